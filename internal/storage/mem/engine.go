package mem

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/tidwall/btree"

	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/storage/lock"
)

// item is a pair of the ordered map. Its slices never change.
type item struct {
	key, value []byte
}

// itemOverhead is the memory of a pair in addition to its bytes: two slices in a node that is not
// full, each rounded up.
const itemOverhead = 112

// memory returns the memory of a pair in bytes.
func (i item) memory() int64 { return int64(len(i.key)+len(i.value))*17/16 + itemOverhead }

type tree = btree.BTreeG[item]

func newTree() *tree {
	less := func(a, b item) bool { return bytes.Compare(a.key, b.key) < 0 }
	return btree.NewBTreeGOptions(less, btree.Options{NoLocks: true, Degree: 32})
}

// Engine implements storage.Engine.
type Engine struct {
	locks *lock.Table

	mu     sync.RWMutex
	tree   *tree
	closed bool
	// commits counts the commits.
	commits uint64
	// changed has, for each lock, the number of the latest commit that changed a key of the lock.
	// It is kept while snapshot transactions are open.
	changed   map[uint64]uint64
	snapTxns  int
	txns      int64
	snapshots int64
	stats     storage.Stats
	order     storage.Order
}

var _ storage.Engine = (*Engine)(nil)

// New returns an empty engine.
func New() storage.Engine {
	return &Engine{tree: newTree(), locks: lock.NewTable(), changed: make(map[uint64]uint64)}
}

// nopCloser is the Closer of a value that needs no release.
type nopCloser struct{}

func (nopCloser) Close() error { return nil }

func get(t *tree, key []byte) ([]byte, io.Closer, error) {
	found, ok := t.Get(item{key: key})
	if !ok {
		return nil, nil, storage.ErrNotFound
	}
	return found.value, nopCloser{}, nil
}

// Get implements storage.Engine.
func (e *Engine) Get(key []byte) ([]byte, io.Closer, error) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if e.closed {
		return nil, nil, storage.ErrClosed
	}
	return get(e.tree, key)
}

// view returns the newest committed state as an unchanging tree.
func (e *Engine) view() (*tree, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, storage.ErrClosed
	}
	return e.tree.Copy(), nil
}

// NewSnapshot implements storage.Engine.
func (e *Engine) NewSnapshot() storage.Snapshot {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := &snapshot{engine: e}
	if e.closed {
		return s
	}
	e.snapshots++
	s.tree = e.tree.Copy()
	return s
}

// Begin implements storage.Engine.
func (e *Engine) Begin() storage.Txn {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.txns++
	return &txn{engine: e, writes: newWrites()}
}

// BeginSnapshot implements storage.Engine.
func (e *Engine) BeginSnapshot() storage.Txn {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.txns++
	e.snapTxns++
	return &txn{engine: e, view: e.tree.Copy(), begun: e.commits, writes: newWrites()}
}

// Scratch implements storage.Engine.
func (e *Engine) Scratch(over storage.Snapshot) storage.Txn {
	view, err := over.(*snapshot).current()
	if err != nil {
		return &txn{engine: e, ended: true}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.txns++
	e.snapTxns++
	return &txn{engine: e, view: view.Copy(), scratch: true, writes: newWrites()}
}

// Counter implements storage.Engine.
func (e *Engine) Counter(key []byte) (storage.Counter, error) {
	value, closer, err := e.Get(key)
	if errors.Is(err, storage.ErrNotFound) {
		return storage.Counter{}, nil
	}
	if err != nil {
		return storage.Counter{}, err
	}
	defer closer.Close()
	return storage.DecodeCounter(value)
}

// DeleteRange implements storage.Engine.
func (e *Engine) DeleteRange(start, end []byte) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return storage.ErrClosed
	}
	var keys []item
	e.tree.Ascend(item{key: start}, func(it item) bool {
		if bytes.Compare(it.key, end) >= 0 {
			return false
		}
		keys = append(keys, it)
		return true
	})
	for _, it := range keys {
		e.tree.Delete(it)
		e.stats.DataBytes -= it.memory()
	}
	return nil
}

// cloneValue copies a value. The copy of an empty value is not nil.
func cloneValue(v []byte) []byte { return append(make([]byte, 0, len(v)), v...) }

// Sync implements storage.Engine.
func (e *Engine) Sync() error { return nil }

// Durable implements storage.Engine. A loss of power does not matter here.
func (e *Engine) Durable() storage.Stamp { return e.order.Safe() }

// Checkpoint implements storage.Engine. There is nothing to make durable, and no copy on disk.
func (e *Engine) Checkpoint(dir string) error {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if e.closed {
		return storage.ErrClosed
	}
	if dir != "" {
		return fmt.Errorf("storage/mem: a store in memory cannot be copied to %q", dir)
	}
	return nil
}

// DiskUsage implements storage.Engine with the length of the keys and values.
func (e *Engine) DiskUsage(start, end []byte) (storage.Usage, error) {
	c, err := e.Contents(start, end)
	return c.Usage, err
}

// Contents implements storage.Engine. There is no garbage.
func (e *Engine) Contents(start, end []byte) (storage.Contents, error) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if e.closed {
		return storage.Contents{}, storage.ErrClosed
	}
	var c storage.Contents
	e.tree.Ascend(item{key: start}, func(it item) bool {
		if bytes.Compare(it.key, end) >= 0 {
			return false
		}
		c.Entries++
		c.ValueBytes += int64(len(it.value))
		c.Usage.Unflushed += int64(len(it.key) + len(it.value))
		return true
	})
	return c, nil
}

// Disk implements storage.Engine. The store uses no disk space.
func (e *Engine) Disk() (storage.Disk, error) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if e.closed {
		return storage.Disk{}, storage.ErrClosed
	}
	return storage.Disk{}, nil
}

// Yield implements storage.Engine: there are no caches.
func (e *Engine) Yield(int64) {}

// Stats implements storage.Engine.
func (e *Engine) Stats() storage.Stats {
	e.mu.RLock()
	defer e.mu.RUnlock()
	s := e.stats
	s.OpenSnapshots = e.snapshots
	s.TransactionsActive = e.txns
	s.LockWaits = e.locks.Waits()
	return s
}

// Close implements storage.Engine.
func (e *Engine) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return storage.ErrClosed
	}
	e.closed = true
	e.locks.Close()
	e.tree, e.changed, e.stats.DataBytes = newTree(), nil, 0
	return nil
}

// snapshot implements storage.Snapshot.
type snapshot struct {
	engine *Engine
	mu     sync.RWMutex
	tree   *tree
}

// Get implements storage.Reader.
func (s *snapshot) Get(key []byte) ([]byte, io.Closer, error) {
	t, err := s.current()
	if err != nil {
		return nil, nil, err
	}
	return get(t, key)
}

// NewIter implements storage.Reader.
func (s *snapshot) NewIter(lower, upper []byte) (storage.Iterator, error) {
	t, err := s.current()
	if err != nil {
		return nil, err
	}
	return newIterator(t, lower, upper), nil
}

// current returns the tree. It fails if the snapshot or the engine was closed.
func (s *snapshot) current() (*tree, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	s.engine.mu.RLock()
	defer s.engine.mu.RUnlock()
	if s.tree == nil || s.engine.closed {
		return nil, storage.ErrClosed
	}
	return s.tree, nil
}

// Close implements storage.Snapshot.
func (s *snapshot) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tree == nil {
		return nil
	}
	s.tree = nil
	s.engine.mu.Lock()
	defer s.engine.mu.Unlock()
	s.engine.snapshots--
	return nil
}
