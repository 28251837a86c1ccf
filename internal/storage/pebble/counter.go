package pebble

import (
	"bytes"
	"errors"
	"sync"

	"github.com/sheafdb/sheaf/internal/storage"
)

// counters caches the sums of the counters that were used since the store was opened.
type counters struct {
	mu      sync.RWMutex
	entries map[string]*counterEntry
}

// counterEntry is a cached counter.
type counterEntry struct {
	key    []byte
	mu     sync.Mutex
	loaded bool
	sum    storage.Counter
}

// counterChange is the change of a counter by one transaction.
type counterChange struct {
	entry *counterEntry
	delta storage.Counter
}

// Counter implements storage.Engine.
func (e *Engine) Counter(key []byte) (storage.Counter, error) {
	entry, err := e.counter(key)
	if err != nil {
		return storage.Counter{}, err
	}
	entry.mu.Lock()
	defer entry.mu.Unlock()
	return entry.sum, nil
}

// counter returns the loaded entry of a counter.
func (e *Engine) counter(key []byte) (*counterEntry, error) {
	if e.pins.closed.Load() {
		return nil, storage.ErrClosed
	}
	c := &e.counters
	c.mu.RLock()
	entry := c.entries[string(key)]
	c.mu.RUnlock()
	if entry == nil {
		c.mu.Lock()
		if entry = c.entries[string(key)]; entry == nil {
			if c.entries == nil {
				c.entries = make(map[string]*counterEntry)
			}
			entry = &counterEntry{key: bytes.Clone(key)}
			c.entries[string(key)] = entry
		}
		c.mu.Unlock()
	}
	entry.mu.Lock()
	defer entry.mu.Unlock()
	if entry.loaded {
		return entry, nil
	}
	// Every transaction that adds to this counter must load it here first, so no commit adds to it
	// meanwhile.
	value, closer, err := e.Get(key)
	if errors.Is(err, storage.ErrNotFound) {
		entry.loaded = true
		return entry, nil
	}
	if err != nil {
		return nil, err
	}
	defer closer.Close()
	if entry.sum, err = storage.DecodeCounter(value); err != nil {
		return nil, err
	}
	entry.loaded = true
	return entry, nil
}

// add adds the change of a commit that is visible now.
func (entry *counterEntry) add(delta storage.Counter) {
	entry.mu.Lock()
	entry.sum = entry.sum.Plus(delta)
	entry.mu.Unlock()
}

// forget drops the counter of a deleted key, if the key is a counter.
func (c *counters) forget(key []byte) {
	c.mu.RLock()
	_, ok := c.entries[string(key)]
	c.mu.RUnlock()
	if ok {
		c.mu.Lock()
		delete(c.entries, string(key))
		c.mu.Unlock()
	}
}

// forgetRange drops the counters of a deleted range.
func (c *counters) forgetRange(start, end []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key := range c.entries {
		if bytes.Compare([]byte(key), start) >= 0 && bytes.Compare([]byte(key), end) < 0 {
			delete(c.entries, key)
		}
	}
}
