package cache

import (
	"container/list"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

// DefaultSize is how many query shapes the plan cache holds
// (internalQueryCacheMaxEntriesPerCollection).
const DefaultSize = 5000

// Cache remembers for query shapes which candidate won its trial and how many works that took. An
// entry becomes active when a second trial of the shape was about as cheap; only active entries
// spare a trial.
type Cache struct {
	mu      sync.Mutex
	max     int
	entries map[entryKey]*list.Element
	order   *list.List // of *cacheEntry, the most recently used first
	bytes   int        // of the entries without their debug
	debug   int        // bytes of the entries' debug

	hits, misses, Replans atomic.Int64
}

type entryKey struct {
	collection uint32
	shape      string
}

type entry struct {
	key       entryKey
	version   uint64 // of the collection's catalog entry
	signature string
	works     uint64
	active    bool
	reads     uint64 // of the winner's trial
	made      time.Time
	queryHash string
	debug     *Debug // nil where the cache has no room for it
}

// Debug is what $planCacheStats tells of an entry beside what the planner needs of it.
type Debug struct {
	Query  bsonx.Doc // filter, sort and projection
	Plan   bsonx.Doc
	Stats  []bsonx.Doc // what each candidate did
	Scores []float64
}

func (d *Debug) bytes() int {
	if d == nil {
		return 0
	}
	n := len(d.Query) + len(d.Plan) + 8*len(d.Scores) + entryOverhead
	for _, doc := range d.Stats {
		n += len(doc)
	}
	return n
}

// maxCacheBytes bounds what the entries take beside that. A query with a shape beyond
// maxCacheEntry, which has very long names or very many predicates, is planned anew each time.
const (
	maxCacheBytes = 8 << 20
	maxCacheEntry = 128 << 10
)

// maxCacheDebug bounds the bytes of what is kept for $planCacheStats only.
const maxCacheDebug = 2 << 20

// New returns an empty cache of at most limit entries.
func New(limit int) *Cache {
	return &Cache{max: limit, entries: map[entryKey]*list.Element{}, order: list.New()}
}

// Get returns the winner of a shape and its works, if there is an active entry of that catalog
// version.
func (c *Cache) Get(collection uint32, shape []byte, version uint64) (signature string, works uint64, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	el := c.entries[entryKey{collection, string(shape)}]
	if el == nil {
		c.misses.Add(1)
		return "", 0, false
	}
	e := el.Value.(*entry)
	if e.version != version {
		c.misses.Add(1)
		c.remove(el)
		return "", 0, false
	}
	c.order.MoveToFront(el)
	if e.active {
		c.hits.Add(1)
	} else {
		c.misses.Add(1)
	}
	return e.signature, e.works, e.active
}

// Outcome is the winner of a trial.
type Outcome struct {
	Signature    string
	Works, Reads uint64
	QueryHash    string
	At           time.Time
	Describe     func() *Debug // nil where nobody wants to know
}

// Put records the outcome of a trial.
func (c *Cache) Put(collection uint32, shape []byte, version uint64, o Outcome) {
	key := entryKey{collection, string(shape)}
	c.mu.Lock()
	defer c.mu.Unlock()
	if el := c.entries[key]; el != nil {
		e := el.Value.(*entry)
		switch {
		case e.version != version:
			c.fill(e, version, o, false)
		case o.Works <= e.works:
			c.fill(e, version, o, true)
		default:
			// The shape was cheaper once. It gets twice the allowance before it becomes active.
			e.works *= 2
		}
		c.order.MoveToFront(el)
		c.trim()
		return
	}
	if len(shape) > maxCacheEntry {
		return
	}
	e := &entry{key: key}
	c.bytes += e.bytes()
	c.entries[key] = c.order.PushFront(e)
	c.fill(e, version, o, false)
	c.trim()
}

// trim removes the entries that were not used for longest, where the cache has too many.
func (c *Cache) trim() {
	for c.order.Len() > c.max || c.bytes > maxCacheBytes {
		c.remove(c.order.Back())
	}
}

// fill makes the outcome of a trial what the entry holds.
func (c *Cache) fill(e *entry, version uint64, o Outcome, active bool) {
	c.debug -= e.debug.bytes()
	c.bytes += len(o.Signature) - len(e.signature)
	*e = entry{
		key: e.key, version: version, signature: o.Signature, works: o.Works, active: active, reads: o.Reads,
		made: o.At, queryHash: o.QueryHash,
	}
	if o.Describe != nil && c.debug < maxCacheDebug {
		e.debug = o.Describe()
		c.debug += e.debug.bytes()
	}
}

// Deactivate makes the next query of the shape run a trial again.
func (c *Cache) Deactivate(collection uint32, shape []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if el := c.entries[entryKey{collection, string(shape)}]; el != nil {
		el.Value.(*entry).active = false
	}
}

// Clear forgets all shapes of a collection.
func (c *Cache) Clear(collection uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, el := range c.entries {
		if key.collection == collection {
			c.remove(el)
		}
	}
}

// ClearShape forgets a shape of a collection: the entries of all purposes, and of all sets of
// candidates. A shape ends with its purpose, a byte up to purposes.
func (c *Cache) ClearShape(collection uint32, shape []byte, purposes byte) {
	query := string(shape[:len(shape)-1])
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, el := range c.entries {
		rest, ok := strings.CutPrefix(key.shape, query)
		if ok && key.collection == collection && rest != "" && rest[0] <= purposes && (len(rest) == 1 || rest[1] == 0) {
			c.remove(el)
		}
	}
}

func (c *Cache) remove(el *list.Element) {
	e := el.Value.(*entry)
	c.debug -= e.debug.bytes()
	c.bytes -= e.bytes() - e.debug.bytes()
	delete(c.entries, e.key)
	c.order.Remove(el)
}

// Entry is a plan that the cache holds, as $planCacheStats shows it.
type Entry struct {
	QueryHash, PlanCacheKey string
	IsActive                bool
	Works                   uint64
	// Reads are the keys and documents that the winner looked at in its trial.
	Reads uint64
	Made  time.Time
	Bytes int
	// Query is the query that made the entry, Plan its plan; CreationStats and Scores are those of
	// all candidates, the winner first. They are nil where the cache had no room for them.
	Query, Plan   bsonx.Doc
	CreationStats []bsonx.Doc
	Scores        []float64
}

// List returns the plans of a collection, the most recently used first.
func (c *Cache) List(collection uint32) []Entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []Entry
	for el := c.order.Front(); el != nil; el = el.Next() {
		if e := el.Value.(*entry); e.key.collection == collection {
			entry := Entry{
				QueryHash: e.queryHash, PlanCacheKey: Hash([]byte(e.key.shape)), IsActive: e.active,
				Works: e.works, Reads: e.reads,
				Made: e.made, Bytes: e.bytes(),
			}
			if d := e.debug; d != nil {
				entry.Query, entry.Plan, entry.CreationStats, entry.Scores = d.Query, d.Plan, d.Stats, d.Scores
			}
			out = append(out, entry)
		}
	}
	return out
}

func (e *entry) bytes() int {
	return len(e.key.shape) + len(e.signature) + entryOverhead + e.debug.bytes()
}

// entryOverhead is about what an entry takes beside its shape and signature.
const entryOverhead = 128

// Hash is a hash as explain prints it: eight upper-case hexadecimal digits.
func Hash(key []byte) string {
	h := fnv.New32a()
	// A hash's Write never fails.
	_, _ = h.Write(key)
	return fmt.Sprintf("%08X", binary.BigEndian.Uint32(h.Sum(nil)))
}

// Stats counts what the plan cache did, and what it has.
type Stats struct {
	// Shapes are the entries, Bytes what is kept of them.
	Shapes, Bytes int64
	// Hits are queries whose plan the cache named, Misses those that needed a trial. Replans are
	// hits whose plan then proved too expensive.
	Hits, Misses, Replans int64
}

// Stats returns what the cache did so far, and what it has now.
func (c *Cache) Stats() Stats {
	st := Stats{Hits: c.hits.Load(), Misses: c.misses.Load(), Replans: c.Replans.Load()}
	c.mu.Lock()
	defer c.mu.Unlock()
	st.Shapes = int64(c.order.Len())
	st.Bytes = int64(c.bytes + c.debug)
	return st
}
