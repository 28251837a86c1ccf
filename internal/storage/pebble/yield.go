package pebble

import (
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
)

// blocks is Pebble's block cache. A part of it may be reserved while the memory is lent to others.
type blocks struct {
	cache *pebble.Cache
	// yielded is how much of the spare memory is lent to others.
	yielded atomic.Int64

	mu sync.Mutex
	// release ends the reservation. It is nil if there is no reservation.
	release func()
}

// reserve reduces the cache by n bytes below its original size.
func (b *blocks) reserve(n int64) {
	if b.release != nil {
		b.release()
		b.release = nil
	}
	if n > 0 {
		b.release = b.cache.Reserve(int(n))
	}
}

// caches returns how much memory the caches may take now.
func (e *Engine) caches() (records, blocks int64) {
	o := e.options
	o.SpareMemory -= e.blocks.yielded.Load()
	_, records, blocks = o.memory()
	return records, blocks
}

// Yield implements storage.Engine.
func (e *Engine) Yield(n int64) {
	p, ok := e.pins.acquire()
	if !ok {
		return
	}
	defer e.pins.release(p)
	e.blocks.mu.Lock()
	defer e.blocks.mu.Unlock()
	e.blocks.yielded.Store(min(max(n, 0), e.options.SpareMemory))
	_, _, most := e.options.memory()
	kept, size := e.caches()
	e.records.resize(kept)
	e.blocks.reserve(most - size)
}
