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

// DefaultSize is the default number of entries of the plan cache
// (internalQueryCacheMaxEntriesPerCollection).
const DefaultSize = 5000

// Cache stores for query shapes which candidate won its trial and how many works that took. An
// entry becomes active when a later trial of the shape needed no more works than the entry allows.
// Only an active entry replaces a trial.
type Cache struct {
	mu      sync.Mutex
	max     int
	entries map[entryKey]*list.Element
	order   *list.List // list of *entry, the most recently used first
	bytes   int        // size of the entries without their debug data
	debug   int        // size of the entries' debug data

	hits, misses, Replans atomic.Int64
}

type entryKey struct {
	collection uint32
	shape      string
}

type entry struct {
	key       entryKey
	version   uint64 // version of the collection's catalog entry
	signature string
	works     uint64
	active    bool
	reads     uint64 // keys and documents that the winner read in its trial
	made      time.Time
	queryHash string
	debug     *Debug // nil if the cache had no room for it
}

// Debug holds the data of an entry that only $planCacheStats shows.
type Debug struct {
	Query  bsonx.Doc // filter, sort and projection
	Plan   bsonx.Doc
	Stats  []bsonx.Doc // statistics of each candidate
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

// maxCacheBytes limits the total size of the entries without debug data, in bytes. maxCacheEntry
// limits the size of a shape. A query with a larger shape, which has very long names or very many
// predicates, is planned anew each time.
const (
	maxCacheBytes = 8 << 20
	maxCacheEntry = 128 << 10
)

// maxCacheDebug is the total size, in bytes, of the data that only $planCacheStats shows, at which
// new entries get none of it.
const maxCacheDebug = 2 << 20

// New returns an empty cache of at most limit entries.
func New(limit int) *Cache {
	return &Cache{max: limit, entries: map[entryKey]*list.Element{}, order: list.New()}
}

// Get returns the winner of a shape and its works. ok is false if there is no active entry for the
// catalog version.
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

// Outcome is the result of a trial.
type Outcome struct {
	Signature    string
	Works, Reads uint64
	QueryHash    string
	At           time.Time
	Describe     func() *Debug // describes the trial for $planCacheStats; may be nil
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
			// An earlier trial was cheaper. The allowance is doubled, and the entry is not active
			// yet.
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

// trim removes the least recently used entries while the cache is too large.
func (c *Cache) trim() {
	for c.order.Len() > c.max || c.bytes > maxCacheBytes {
		c.remove(c.order.Back())
	}
}

// fill replaces the contents of an entry by the outcome of a trial.
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

// Clear removes all entries of a collection.
func (c *Cache) Clear(collection uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, el := range c.entries {
		if key.collection == collection {
			c.remove(el)
		}
	}
}

// ClearShape removes the entries of a query shape in a collection, for all commands and for all
// sets of candidates. The last byte of a shape is the purpose of the query. purposes is the
// greatest purpose.
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

// Entry is an entry of the cache as $planCacheStats shows it.
type Entry struct {
	QueryHash, PlanCacheKey string
	IsActive                bool
	Works                   uint64
	// Reads is the number of keys and documents that the winner read in its trial.
	Reads uint64
	Made  time.Time
	Bytes int
	// Query is the query that created the entry, and Plan is its plan. CreationStats and Scores
	// have an element for each candidate, the winner first. All are nil if the cache had no room
	// for them.
	Query, Plan   bsonx.Doc
	CreationStats []bsonx.Doc
	Scores        []float64
}

// List returns the entries of a collection, the most recently used first.
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

// entryOverhead estimates the memory of an entry without its shape and signature, in bytes.
const entryOverhead = 128

// Hash returns the hash of a key as explain prints it: eight upper-case hexadecimal digits.
func Hash(key []byte) string {
	h := fnv.New32a()
	// Write of a hash never fails.
	_, _ = h.Write(key)
	return fmt.Sprintf("%08X", binary.BigEndian.Uint32(h.Sum(nil)))
}

// Stats are the counters and the size of the plan cache.
type Stats struct {
	// Shapes is the number of entries, Bytes is their total size.
	Shapes, Bytes int64
	// Hits counts queries whose plan the cache named. Misses counts queries that needed a trial.
	// Replans counts hits whose plan then failed, or proved too expensive.
	Hits, Misses, Replans int64
}

// Stats returns the counters and the current size of the cache.
func (c *Cache) Stats() Stats {
	st := Stats{Hits: c.hits.Load(), Misses: c.misses.Load(), Replans: c.Replans.Load()}
	c.mu.Lock()
	defer c.mu.Unlock()
	st.Shapes = int64(c.order.Len())
	st.Bytes = int64(c.bytes + c.debug)
	return st
}
