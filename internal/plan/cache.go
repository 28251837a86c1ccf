package plan

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

// DefaultCacheSize is how many query shapes the plan cache holds (internalQueryCacheMaxEntriesPerCollection).
const DefaultCacheSize = 5000

// planCache remembers for query shapes which candidate won its trial and how many works that took. An entry becomes active
// when a second trial of the shape was about as cheap; only active entries spare a trial.
type planCache struct {
	mu      sync.Mutex
	max     int
	entries map[cacheKey]*list.Element
	order   *list.List // of *cacheEntry, the most recently used first
	bytes   int        // of the entries without their debug
	debug   int        // bytes of the entries' debug

	hits, misses, replans atomic.Int64
}

type cacheKey struct {
	collection uint32
	shape      string
}

type cacheEntry struct {
	key       cacheKey
	version   uint64 // of the collection's catalog entry
	signature string
	works     uint64
	active    bool
	reads     uint64 // of the winner's trial
	made      time.Time
	queryHash string
	debug     *cacheDebug // nil where the cache has no room for it
}

// cacheDebug is what $planCacheStats tells of an entry beside what the planner needs of it.
type cacheDebug struct {
	query  bsonx.Doc // filter, sort and projection
	plan   bsonx.Doc
	stats  []bsonx.Doc // what each candidate did
	scores []float64
}

func (d *cacheDebug) bytes() int {
	if d == nil {
		return 0
	}
	n := len(d.query) + len(d.plan) + 8*len(d.scores) + entryOverhead
	for _, doc := range d.stats {
		n += len(doc)
	}
	return n
}

// maxCacheBytes bounds what the entries take beside that. A query with a shape beyond maxCacheEntry,
// which has very long names or very many predicates, is planned anew each time.
const (
	maxCacheBytes = 8 << 20
	maxCacheEntry = 128 << 10
)

// maxCacheDebug bounds the bytes of what is kept for $planCacheStats only.
const maxCacheDebug = 2 << 20

func newCache(limit int) *planCache {
	return &planCache{max: limit, entries: map[cacheKey]*list.Element{}, order: list.New()}
}

// get returns the winner of a shape and its works, if there is an active entry of that catalog version.
func (c *planCache) get(collection uint32, shape []byte, version uint64) (signature string, works uint64, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	el := c.entries[cacheKey{collection, string(shape)}]
	if el == nil {
		c.misses.Add(1)
		return "", 0, false
	}
	e := el.Value.(*cacheEntry)
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

// trialOutcome is the winner of a trial.
type trialOutcome struct {
	signature    string
	works, reads uint64
	queryHash    string
	at           time.Time
	describe     func() *cacheDebug // nil where nobody wants to know
}

// put records the outcome of a trial.
func (c *planCache) put(collection uint32, shape []byte, version uint64, o trialOutcome) {
	key := cacheKey{collection, string(shape)}
	c.mu.Lock()
	defer c.mu.Unlock()
	if el := c.entries[key]; el != nil {
		e := el.Value.(*cacheEntry)
		switch {
		case e.version != version:
			c.fill(e, version, o, false)
		case o.works <= e.works:
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
	e := &cacheEntry{key: key}
	c.bytes += e.bytes()
	c.entries[key] = c.order.PushFront(e)
	c.fill(e, version, o, false)
	c.trim()
}

// trim removes the entries that were not used for longest, where the cache has too many.
func (c *planCache) trim() {
	for c.order.Len() > c.max || c.bytes > maxCacheBytes {
		c.remove(c.order.Back())
	}
}

// fill makes the outcome of a trial what the entry holds.
func (c *planCache) fill(e *cacheEntry, version uint64, o trialOutcome, active bool) {
	c.debug -= e.debug.bytes()
	c.bytes += len(o.signature) - len(e.signature)
	*e = cacheEntry{
		key: e.key, version: version, signature: o.signature, works: o.works, active: active, reads: o.reads,
		made: o.at, queryHash: o.queryHash,
	}
	if o.describe != nil && c.debug < maxCacheDebug {
		e.debug = o.describe()
		c.debug += e.debug.bytes()
	}
}

// deactivate makes the next query of the shape run a trial again.
func (c *planCache) deactivate(collection uint32, shape []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if el := c.entries[cacheKey{collection, string(shape)}]; el != nil {
		el.Value.(*cacheEntry).active = false
	}
}

// clear forgets all shapes of a collection.
func (c *planCache) clear(collection uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, el := range c.entries {
		if key.collection == collection {
			c.remove(el)
		}
	}
}

// clearShape forgets a shape of a collection: the entries of all purposes, and of all sets of candidates.
// A shape ends with its purpose, a byte up to purposes.
func (c *planCache) clearShape(collection uint32, shape []byte, purposes byte) {
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

func (c *planCache) remove(el *list.Element) {
	e := el.Value.(*cacheEntry)
	c.debug -= e.debug.bytes()
	c.bytes -= e.bytes() - e.debug.bytes()
	delete(c.entries, e.key)
	c.order.Remove(el)
}

// CacheEntry is a plan that the cache holds, as $planCacheStats shows it.
type CacheEntry struct {
	QueryHash, PlanCacheKey string
	IsActive                bool
	Works                   uint64
	// Reads are the keys and documents that the winner looked at in its trial.
	Reads uint64
	Made  time.Time
	Bytes int
	// Query is the query that made the entry, Plan its plan; CreationStats and Scores are those of all candidates, the
	// winner first. They are nil where the cache had no room for them.
	Query, Plan   bsonx.Doc
	CreationStats []bsonx.Doc
	Scores        []float64
}

// list returns the plans of a collection, the most recently used first.
func (c *planCache) list(collection uint32) []CacheEntry {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []CacheEntry
	for el := c.order.Front(); el != nil; el = el.Next() {
		if e := el.Value.(*cacheEntry); e.key.collection == collection {
			entry := CacheEntry{
				QueryHash: e.queryHash, PlanCacheKey: hash8([]byte(e.key.shape)), IsActive: e.active, Works: e.works, Reads: e.reads,
				Made: e.made, Bytes: e.bytes(),
			}
			if d := e.debug; d != nil {
				entry.Query, entry.Plan, entry.CreationStats, entry.Scores = d.query, d.plan, d.stats, d.scores
			}
			out = append(out, entry)
		}
	}
	return out
}

func (e *cacheEntry) bytes() int {
	return len(e.key.shape) + len(e.signature) + entryOverhead + e.debug.bytes()
}

// entryOverhead is about what an entry takes beside its shape and signature.
const entryOverhead = 128

// hash8 is a hash as explain prints it: eight upper-case hexadecimal digits.
func hash8(key []byte) string {
	h := fnv.New32a()
	// A hash's Write never fails.
	_, _ = h.Write(key)
	return fmt.Sprintf("%08X", binary.BigEndian.Uint32(h.Sum(nil)))
}

// CacheStats counts what the plan cache did, and what it has.
type CacheStats struct {
	// Shapes are the entries, Bytes what is kept of them.
	Shapes, Bytes int64
	// Hits are queries whose plan the cache named, Misses those that needed a trial. Replans are hits whose plan then proved
	// too expensive.
	Hits, Misses, Replans int64
}

// stats returns what the cache did so far, and what it has now.
func (c *planCache) stats() CacheStats {
	st := CacheStats{Hits: c.hits.Load(), Misses: c.misses.Load(), Replans: c.replans.Load()}
	c.mu.Lock()
	defer c.mu.Unlock()
	st.Shapes = int64(c.order.Len())
	st.Bytes = int64(c.bytes + c.debug)
	return st
}
