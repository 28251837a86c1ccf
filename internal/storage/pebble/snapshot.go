package pebble

import (
	"io"
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"github.com/sheafdb/sheaf/internal/storage"
)

var _ storage.Keeper = (*snapshot)(nil)

// snapshot implements storage.Snapshot.
type snapshot struct {
	engine *Engine
	// mu prevents that Close runs between a reader's check of inner and its use.
	mu    sync.RWMutex
	inner *pebble.Snapshot
	// epoch is the epoch of the record cache, and state the number of the engine's state. Both were
	// read before inner was taken.
	epoch, state uint64
}

// Get implements storage.Reader.
func (s *snapshot) Get(key []byte) ([]byte, io.Closer, error) {
	p, ok := s.engine.pins.acquire()
	if !ok {
		return nil, nil, storage.ErrClosed
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.inner == nil {
		s.engine.pins.release(p)
		return nil, nil, storage.ErrClosed
	}
	return s.engine.getKept(s.inner, key, s.epoch, p)
}

// Kept implements storage.Keeper.
func (s *snapshot) Kept(key []byte) ([]byte, bool) {
	e := s.engine
	if !e.records.keeps(key) || e.pins.closed.Load() {
		return nil, false
	}
	return e.records.get(e.locks.Hash(key), key, s.epoch)
}

// Keep implements storage.Keeper.
func (s *snapshot) Keep(key, value []byte, spare bool) {
	if e := s.engine; e.records.keeps(key) {
		e.records.offer(e.locks.Hash(key), key, value, s.epoch, spare)
	}
}

// NewIter implements storage.Reader.
func (s *snapshot) NewIter(lower, upper []byte) (storage.Iterator, error) {
	p, ok := s.engine.pins.acquire()
	if !ok {
		return nil, storage.ErrClosed
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.inner == nil {
		s.engine.pins.release(p)
		return nil, storage.ErrClosed
	}
	from, err := s.engine.newSource(s.inner, s.state, lower, upper, p)
	if err != nil {
		return nil, err
	}
	it := &iterator{engine: s.engine, source: from}
	it.keepBounds(lower, upper)
	return it, nil
}

// Close implements storage.Snapshot.
func (s *snapshot) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.inner == nil {
		return nil
	}
	inner := s.inner
	s.inner = nil
	s.engine.snapshots.Add(-1)
	p, ok := s.engine.pins.acquire()
	if !ok {
		// Pebble is closed, and with it the snapshot.
		return nil
	}
	defer s.engine.pins.release(p)
	return s.engine.wrap(inner.Close())
}
