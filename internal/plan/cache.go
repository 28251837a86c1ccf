package plan

import (
	"container/list"
	"sync"
)

// DefaultCacheSize is how many query shapes the plan cache holds (internalQueryCacheMaxEntriesPerCollection).
const DefaultCacheSize = 5000

// cache remembers for query shapes which candidate won its trial and how many works that took. An entry becomes active
// when a second trial of the shape was about as cheap; only active entries spare a trial.
type cache struct {
	mu      sync.Mutex
	max     int
	entries map[cacheKey]*list.Element
	order   *list.List // of *cacheEntry, the most recently used first
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
}

func newCache(limit int) *cache {
	return &cache{max: limit, entries: map[cacheKey]*list.Element{}, order: list.New()}
}

// get returns the winner of a shape and its works, if there is an active entry of that catalog version.
func (c *cache) get(collection uint32, shape []byte, version uint64) (signature string, works uint64, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	el := c.entries[cacheKey{collection, string(shape)}]
	if el == nil {
		return "", 0, false
	}
	e := el.Value.(*cacheEntry)
	if e.version != version {
		c.remove(el)
		return "", 0, false
	}
	c.order.MoveToFront(el)
	return e.signature, e.works, e.active
}

// put records the outcome of a trial.
func (c *cache) put(collection uint32, shape []byte, version uint64, signature string, works uint64) {
	key := cacheKey{collection, string(shape)}
	c.mu.Lock()
	defer c.mu.Unlock()
	if el := c.entries[key]; el != nil {
		e := el.Value.(*cacheEntry)
		switch {
		case e.version != version:
			*e = cacheEntry{key: key, version: version, signature: signature, works: works}
		case works <= e.works:
			e.signature, e.works, e.active = signature, works, true
		default:
			// The shape was cheaper once. It gets twice the allowance before it becomes active.
			e.works *= 2
		}
		c.order.MoveToFront(el)
		return
	}
	e := &cacheEntry{key: key, version: version, signature: signature, works: works}
	c.entries[key] = c.order.PushFront(e)
	for c.order.Len() > c.max {
		c.remove(c.order.Back())
	}
}

// deactivate makes the next query of the shape run a trial again.
func (c *cache) deactivate(collection uint32, shape []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if el := c.entries[cacheKey{collection, string(shape)}]; el != nil {
		el.Value.(*cacheEntry).active = false
	}
}

// clear forgets all shapes of a collection.
func (c *cache) clear(collection uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, el := range c.entries {
		if key.collection == collection {
			c.remove(el)
		}
	}
}

func (c *cache) remove(el *list.Element) {
	delete(c.entries, el.Value.(*cacheEntry).key)
	c.order.Remove(el)
}

// CacheEntry is a plan that the cache holds, as $planCacheStats shows it.
type CacheEntry struct {
	PlanCacheKey string
	IsActive     bool
	Works        uint64
	Bytes        int
}

// list returns the plans of a collection, the most recently used first.
func (c *cache) list(collection uint32) []CacheEntry {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []CacheEntry
	for el := c.order.Front(); el != nil; el = el.Next() {
		if e := el.Value.(*cacheEntry); e.key.collection == collection {
			out = append(out, CacheEntry{hash8([]byte(e.key.shape)), e.active, e.works, len(e.key.shape) + len(e.signature) + entryOverhead})
		}
	}
	return out
}

// entryOverhead is about what an entry takes beside its shape and signature.
const entryOverhead = 128
