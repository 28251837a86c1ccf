package mem

import (
	"bytes"
	"context"
	"errors"
	"io"

	"github.com/tidwall/btree"

	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/storage/lock"
)

// write is a change of a transaction.
type write struct {
	item
	deleted bool
}

func newWrites() *btree.BTreeG[write] {
	less := func(a, b write) bool { return bytes.Compare(a.key, b.key) < 0 }
	return btree.NewBTreeGOptions(less, btree.Options{NoLocks: true})
}

// set puts a pair into a tree. It returns by how many bytes the memory of the pairs grew.
func set(t *tree, it item) int64 {
	if old, replaced := t.Set(it); replaced {
		return it.memory() - old.memory()
	}
	return it.memory()
}

// apply applies the changes of keys in [lower, upper) to a tree. If upper is nil, there is no upper
// bound. It returns by how many bytes the memory of the pairs grew.
func apply(t *tree, writes *btree.BTreeG[write], lower, upper []byte) (grown int64) {
	writes.Ascend(write{item: item{key: lower}}, func(w write) bool {
		if upper != nil && bytes.Compare(w.key, upper) >= 0 {
			return false
		}
		if !w.deleted {
			grown += set(t, w.item)
		} else if old, ok := t.Delete(w.item); ok {
			grown -= old.memory()
		}
		return true
	})
	return grown
}

// txn implements storage.Txn.
type txn struct {
	engine *Engine
	owner  lock.Owner
	// view is the snapshot of a snapshot transaction, with its own writes in it. It is nil in a
	// statement transaction.
	view *tree
	// begun is the number of the newest commit in the snapshot.
	begun uint64
	// scratch means that there are no locks and no commit.
	scratch  bool
	writes   *btree.BTreeG[write]
	counters []counterChange
	stamped  []stampedWrite
	least    storage.Stamp // lower bound of the stamps of the commit
	stamp    storage.Stamp // last stamp that the commit gave
	changes  int
	bytes    int
	ended    bool
}

type counterChange struct {
	key   []byte
	delta storage.Counter
}

// check returns an error if the transaction cannot be used.
func (t *txn) check() error {
	if t.ended {
		return storage.ErrEnded
	}
	t.engine.mu.RLock()
	defer t.engine.mu.RUnlock()
	if t.engine.closed {
		return storage.ErrClosed
	}
	return nil
}

// Get implements storage.Reader.
func (t *txn) Get(key []byte) ([]byte, io.Closer, error) {
	if err := t.check(); err != nil {
		return nil, nil, err
	}
	if t.view != nil {
		return get(t.view, key)
	}
	if w, ok := t.writes.Get(write{item: item{key: key}}); ok {
		if w.deleted {
			return nil, nil, storage.ErrNotFound
		}
		return w.value, nopCloser{}, nil
	}
	return t.engine.Get(key)
}

// Has implements storage.Txn.
func (t *txn) Has(key []byte) (bool, error) { return storage.HasByGet(t, key) }

// NewIter implements storage.Reader.
func (t *txn) NewIter(lower, upper []byte) (storage.Iterator, error) {
	if err := t.check(); err != nil {
		return nil, err
	}
	if t.view != nil {
		return newIterator(t.view.Copy(), lower, upper), nil
	}
	view, err := t.engine.view()
	if err != nil {
		return nil, err
	}
	apply(view, t.writes, lower, upper) // writes outside the bounds are not looked at
	return newIterator(view, lower, upper), nil
}

// Lock implements storage.Txn.
func (t *txn) Lock(ctx context.Context, key []byte) error {
	if err := t.check(); err != nil {
		return err
	}
	if t.scratch {
		return nil
	}
	hash := t.engine.locks.Hash(key)
	var err error
	if t.view == nil {
		err = t.engine.locks.Lock(ctx, &t.owner, hash)
	} else if !t.engine.locks.TryLock(&t.owner, hash) || t.engine.changedSince(hash, t.begun) {
		err = storage.ErrConflict
	}
	if errors.Is(err, storage.ErrConflict) {
		t.engine.mu.Lock()
		defer t.engine.mu.Unlock()
		t.engine.stats.Conflicts++
	}
	return err
}

func (e *Engine) changedSince(hash, commit uint64) bool {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.changed[hash] > commit
}

// Put implements storage.Txn.
func (t *txn) Put(key, value []byte) error {
	return t.change(write{item: item{key: bytes.Clone(key), value: cloneValue(value)}})
}

// Delete implements storage.Txn.
func (t *txn) Delete(key []byte) error {
	return t.change(write{item: item{key: bytes.Clone(key)}, deleted: true})
}

func (t *txn) change(w write) error {
	if err := t.check(); err != nil {
		return err
	}
	t.changes++
	t.bytes += len(w.key) + len(w.value)
	t.writes.Set(w)
	if t.view == nil {
		return nil
	}
	if w.deleted {
		t.view.Delete(w.item)
	} else {
		t.view.Set(w.item)
	}
	return nil
}

// Add implements storage.Txn.
func (t *txn) Add(key []byte, delta storage.Counter) error {
	if err := t.check(); err != nil {
		return err
	}
	for i := range t.counters {
		if bytes.Equal(t.counters[i].key, key) {
			t.counters[i].delta = t.counters[i].delta.Plus(delta)
			return nil
		}
	}
	t.changes++
	t.bytes += len(key) + storage.CounterSize
	t.counters = append(t.counters, counterChange{key: bytes.Clone(key), delta: delta})
	return nil
}

// Len implements storage.Txn.
func (t *txn) Len() int { return t.changes }

// Bytes implements storage.Txn.
func (t *txn) Bytes() int { return t.bytes }

// memOverhead is the approximate memory of a change in addition to its key and value: a node of the
// tree, and slices.
const memOverhead = 128

// Memory implements storage.Txn.
func (t *txn) Memory() int64 { return int64(t.bytes + memOverhead*t.Len()) }

// Commit implements storage.Txn.
func (t *txn) Commit(durability storage.Durability) error {
	if t.ended {
		return storage.ErrEnded
	}
	defer t.Rollback()
	if t.scratch {
		return storage.ErrScratch
	}
	e := t.engine
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return storage.ErrClosed
	}
	if durability != storage.Buffered {
		e.stats.CommitsDurable++
	} else {
		e.stats.CommitsBuffered++
	}
	if t.changes == 0 {
		return nil
	}
	// The tree is changed in place. The mutex prevents readers from seeing a half-applied commit.
	if err := applyCounters(e.tree, t.counters); err != nil {
		return err
	}
	e.stats.DataBytes += apply(e.tree, t.writes, nil, nil)
	t.putStamped()
	e.commits++
	if e.snapTxns > 0 {
		for _, hash := range t.owner.Held() {
			e.changed[hash] = e.commits
		}
	}
	return nil
}

// applyCounters applies all changes of counters. If one fails, it applies none of them.
func applyCounters(t *tree, changes []counterChange) error {
	sums := make([]item, 0, len(changes))
	for _, change := range changes {
		sum := change.delta
		if old, ok := t.Get(item{key: change.key}); ok {
			c, err := storage.DecodeCounter(old.value)
			if err != nil {
				return err
			}
			sum = sum.Plus(c)
		}
		sums = append(sums, item{key: change.key, value: sum.Append(nil)})
	}
	for _, it := range sums {
		t.Set(it)
	}
	return nil
}

// Rollback implements storage.Txn.
func (t *txn) Rollback() {
	if t.ended {
		return
	}
	t.ended = true
	e := t.engine
	e.mu.Lock()
	e.txns--
	if t.view != nil {
		e.snapTxns--
		if e.snapTxns == 0 {
			clear(e.changed)
		}
	}
	e.mu.Unlock()
	e.locks.Release(&t.owner)
	t.view, t.writes, t.counters, t.stamped = nil, nil, nil, nil
}
