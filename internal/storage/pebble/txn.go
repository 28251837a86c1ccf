package pebble

import (
	"bytes"
	"context"
	"errors"
	"io"

	"github.com/cockroachdb/pebble/v2"

	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/storage/lock"
)

const (
	// linearWrites is the number of own writes up to which they are searched one by one. For more
	// writes a map is used.
	linearWrites = 16
	// keepWrites is the largest list of own writes that a pooled state keeps.
	keepWrites = 1024
)

// txn implements storage.Txn. It is a handle to a pooled txnState, which it loses when the
// transaction ends. So a late call cannot touch another transaction.
type txn struct {
	state *txnState
	// stamp is the last stamp that Commit gave.
	stamp storage.Stamp
}

// txnState is a transaction that has not ended.
type txnState struct {
	engine *Engine
	owner  lock.Owner
	// snap is the snapshot of a snapshot transaction, and nil in a statement transaction.
	snap *pebble.Snapshot
	// begun is the number that history.Begin returned for a snapshot transaction.
	begun uint64
	// scratch means that snap belongs to the caller, and that there are no locks and no commit.
	scratch bool
	// epoch is the epoch of the record cache, and state the number of the engine's state. Both were
	// read before snap was taken.
	epoch, state uint64
	// batch has the changes for Pebble except the counters. It is nil before the first change.
	batch  *pebble.Batch
	writes []ownWrite
	// latest finds the last write of a key by its hash. It is used when there are many writes.
	latest   map[uint64]int32
	counters []counterChange
	// stamped are the places in the batch to which the commit writes its stamps.
	stamped []stampedWrite
	// least is a lower bound of the stamps of the commit.
	least storage.Stamp
	// committed is the memory of the batch after the commit began, because Pebble takes the memory
	// of a large batch away.
	committed []byte
	// ordered has the writes in key order, for iterators. It is nil before the first iterator.
	ordered *overlay
	// spare is the source of the last closed iterator of a statement transaction, for the next
	// iterator; see keep.
	spare source

	bytes    int
	putBytes int
	deletes  int
	longKeys int // bytes of the long keys that were put
	encoded  [storage.CounterSize]byte
}

// Begin implements storage.Engine.
func (e *Engine) Begin() storage.Txn { return &txn{state: e.newState()} }

// BeginSnapshot implements storage.Engine.
func (e *Engine) BeginSnapshot() storage.Txn {
	s := e.newState()
	s.begun = e.history.Begin()
	if p, ok := e.pins.acquire(); ok {
		s.epoch, s.state = e.records.now(), e.state.Load()
		s.snap = e.db.NewSnapshot()
		e.snapshots.Add(1)
		e.pins.release(p)
		return &txn{state: s}
	}
	e.history.End(s.begun)
	return &txn{state: s}
}

// Scratch implements storage.Engine.
func (e *Engine) Scratch(over storage.Snapshot) storage.Txn {
	below := over.(*snapshot)
	below.mu.RLock()
	defer below.mu.RUnlock()
	if below.inner == nil {
		return &txn{}
	}
	s := e.newState()
	s.scratch, s.snap, s.epoch, s.state = true, below.inner, below.epoch, below.state
	return &txn{state: s}
}

func (e *Engine) newState() *txnState {
	e.txns.Add(1)
	s, ok := e.states.Get().(*txnState)
	if !ok {
		s = &txnState{engine: e}
	}
	return s
}

// end ends the transaction: it releases the locks, the snapshot and the batch, and returns the
// state to its pool.
func (t *txn) end() {
	s := t.state
	t.state = nil
	e := s.engine
	e.locks.Release(&s.owner)
	switch {
	case s.scratch:
		s.scratch, s.snap = false, nil
	case s.snap != nil:
		e.history.End(s.begun)
		e.snapshots.Add(-1)
		if p, ok := e.pins.acquire(); ok {
			_ = s.snap.Close()
			e.pins.release(p)
		}
		s.snap = nil
	}
	if s.spare.Iterator != nil {
		_ = s.spare.close(e)
		s.spare = source{}
	}
	if s.batch != nil {
		// The memory that an iterator reads must not be reused.
		if s.ordered == nil || s.ordered.open == 0 {
			_ = s.batch.Close()
		}
		s.batch = nil
	}
	if cap(s.writes) > keepWrites {
		s.writes = nil
	}
	s.writes, s.latest = s.writes[:0], nil
	clear(s.counters)
	s.counters = s.counters[:0]
	if cap(s.stamped) > keepWrites {
		s.stamped = nil
	}
	s.stamped, s.least = s.stamped[:0], 0
	s.ordered = nil
	s.bytes, s.putBytes, s.deletes, s.longKeys = 0, 0, 0, 0
	s.committed = nil
	e.txns.Add(-1)
	e.states.Put(s)
}

// Get implements storage.Reader.
func (t *txn) Get(key []byte) ([]byte, io.Closer, error) {
	s := t.state
	if s == nil {
		return nil, nil, storage.ErrEnded
	}
	p, ok := s.engine.pins.acquire()
	if !ok {
		return nil, nil, storage.ErrClosed
	}
	if len(s.writes) > 0 {
		if w, found := s.find(key); found {
			s.engine.pins.release(p)
			if w.deleted() {
				return nil, nil, storage.ErrNotFound
			}
			return s.value(w), nopCloser{}, nil
		}
	}
	if s.snap != nil {
		return s.engine.getKept(s.snap, key, s.epoch, p)
	}
	return s.engine.getKept(s.engine.db, key, s.engine.records.now(), p)
}

// Has implements storage.Txn. For a missing key, Pebble's Get does not use the filters of the last
// level but reads a block there. An iterator uses the filters. But opening an iterator costs more
// than it saves if keys come in order. So Has uses Get before the transaction's first write, and
// afterwards an iterator that is kept. A transaction that adds one record calls Has once.
func (t *txn) Has(key []byte) (bool, error) {
	s := t.state
	if s == nil {
		return false, storage.ErrEnded
	}
	if len(s.writes) == 0 {
		return storage.HasByGet(t, key)
	}
	if w, found := s.find(key); found {
		return !w.deleted(), nil
	}
	p, ok := s.engine.pins.acquire()
	if !ok {
		return false, storage.ErrClosed
	}
	from, err := s.source(nil, nil, p)
	if err != nil {
		return false, err
	}
	found := from.SeekPrefixGE(key)
	if err := from.Error(); err != nil || !t.keep(from) {
		return found, errors.Join(s.engine.wrap(err), from.close(s.engine))
	}
	return found, nil
}

// NewIter implements storage.Reader.
func (t *txn) NewIter(lower, upper []byte) (storage.Iterator, error) {
	s := t.state
	if s == nil {
		return nil, storage.ErrEnded
	}
	p, ok := s.engine.pins.acquire()
	if !ok {
		return nil, storage.ErrClosed
	}
	from, err := s.source(lower, upper, p)
	if err != nil {
		return nil, err
	}
	base := iterator{engine: s.engine, source: from, owner: t}
	if len(s.writes) == 0 {
		base.keepBounds(lower, upper)
		return &base, nil
	}
	if s.ordered == nil {
		s.ordered = newOverlay()
	}
	s.ordered.catchUp(s)
	return newMergedIterator(base, s.ordered, lower, upper), nil
}

// source returns an iterator over the transaction's view. The pin is released with it.
func (s *txnState) source(lower, upper []byte, p pin) (source, error) {
	e := s.engine
	if s.snap != nil {
		return e.newSource(s.snap, s.state, lower, upper, p)
	}
	spare := s.spare
	s.spare = source{}
	switch {
	case spare.Iterator == nil:
	case spare.state == e.state.Load():
		e.pins.release(p)
		spare.SetBounds(lower, upper)
		return spare, nil
	default:
		if err := spare.close(e); err != nil {
			e.pins.release(p)
			return source{}, err
		}
	}
	return e.newSource(e.db, e.state.Load(), lower, upper, p)
}

// keep takes the source of an iterator that is being closed, and reports whether it did. A
// statement transaction that adds many documents looks for duplicates once per document. Opening an
// iterator of Pebble costs about as much as using it. As long as nobody commits, a new iterator
// would see the same state.
func (t *txn) keep(from source) bool {
	s := t.state
	if s == nil || s.snap != nil || s.spare.Iterator != nil || from.Error() != nil {
		return false
	}
	s.spare = from
	return true
}

// Lock implements storage.Txn.
func (t *txn) Lock(ctx context.Context, key []byte) error {
	s := t.state
	if s == nil {
		return storage.ErrEnded
	}
	e := s.engine
	hash := e.locks.Hash(key)
	var err error
	switch {
	case e.pins.closed.Load():
		return storage.ErrClosed
	case s.scratch:
		return nil
	case s.snap == nil:
		err = e.locks.Lock(ctx, &s.owner, hash)
	case !e.locks.TryLock(&s.owner, hash) || e.history.Changed(hash, s.begun):
		err = storage.ErrConflict
	}
	if err != nil && errors.Is(err, storage.ErrConflict) {
		e.conflicts.Add(1)
	}
	return err
}

// Put implements storage.Txn.
func (t *txn) Put(key, value []byte) error {
	s, err := t.writableFor(len(value))
	if err != nil {
		return err
	}
	if err := s.batch.Set(key, value, nil); err != nil {
		return s.engine.wrap(err)
	}
	// The record ends with | key | length of the value | value |.
	end := s.batch.Len()
	w := ownWrite{
		hash: s.engine.locks.Hash(key), keyLen: len(key), valueAt: end - len(value), valueLn: len(value),
	}
	w.keyAt = w.valueAt - uvarintLen(len(value)) - len(key)
	s.bytes += len(key) + len(value)
	s.putBytes += len(key) + len(value)
	if len(key) >= longKey {
		s.longKeys += len(key)
	}
	s.record(w)
	return nil
}

// Delete implements storage.Txn.
func (t *txn) Delete(key []byte) error {
	s, err := t.writable()
	if err != nil {
		return err
	}
	if err := s.batch.Delete(key, nil); err != nil {
		return s.engine.wrap(err)
	}
	s.bytes += len(key)
	s.deletes++
	s.record(ownWrite{
		hash: s.engine.locks.Hash(key), keyAt: s.batch.Len() - len(key), keyLen: len(key), valueAt: -1,
	})
	return nil
}

// keepBatch is the memory of a batch that Pebble keeps for another batch, in bytes. An insert of
// 512 documents of 1 KB with their oplog entries fills 1.2 MiB, more than Pebble's default.
const keepBatch = 8 << 20

func newBatch(db *pebble.DB) *pebble.Batch {
	return db.NewBatch(pebble.WithMaxRetainedSizeBytes(keepBatch))
}

// uvarintLen returns the length of n as a varint.
func uvarintLen(n int) int {
	length := 1
	for ; n >= 0x80; n >>= 7 {
		length++
	}
	return length
}

// largeValue is the size of a value for which a new batch is allocated at its final size. A batch
// that grows doubles its memory, and holds both copies for a while.
const largeValue = 1 << 20

// writableFor prepares the put of a value of n bytes, and returns the state with a batch. For a
// large value, a new batch gets room for two copies: one in the record and one in the oplog.
func (t *txn) writableFor(n int) (*txnState, error) {
	s := t.state
	if s == nil || s.batch != nil || n < largeValue {
		return t.writable()
	}
	p, ok := s.engine.pins.acquire()
	if !ok {
		return nil, storage.ErrClosed
	}
	s.batch = s.engine.db.NewBatch(pebble.WithInitialSizeBytes(2*n+64<<10), pebble.WithMaxRetainedSizeBytes(keepBatch))
	s.engine.pins.release(p)
	return s, nil
}

// writable prepares a change, and returns the state with a batch. It fails if the transaction has
// ended or the engine is closed.
func (t *txn) writable() (*txnState, error) {
	s := t.state
	if s == nil {
		return nil, storage.ErrEnded
	}
	if s.batch != nil {
		return s, nil
	}
	p, ok := s.engine.pins.acquire()
	if !ok {
		return nil, storage.ErrClosed
	}
	s.batch = newBatch(s.engine.db)
	s.engine.pins.release(p)
	return s, nil
}

// Add implements storage.Txn.
func (t *txn) Add(key []byte, delta storage.Counter) error {
	s := t.state
	if s == nil {
		return storage.ErrEnded
	}
	for i := range s.counters {
		if bytes.Equal(s.counters[i].entry.key, key) {
			s.counters[i].delta = s.counters[i].delta.Plus(delta)
			return nil
		}
	}
	entry, err := s.engine.counter(key)
	if err != nil {
		return err
	}
	s.bytes += len(key) + storage.CounterSize
	s.counters = append(s.counters, counterChange{entry: entry, delta: delta})
	return nil
}

// Len implements storage.Txn.
func (t *txn) Len() int {
	if t.state == nil {
		return 0
	}
	return len(t.state.writes) + len(t.state.stamped) + len(t.state.counters)
}

// Bytes implements storage.Txn.
func (t *txn) Bytes() int {
	if t.state == nil {
		return 0
	}
	return t.state.bytes
}

// The memory of a transaction's bookkeeping: for each write, for each write in the map, and for
// each lock.
const (
	ownWriteBytes = 48
	latestBytes   = 32
	lockBytes     = 96
)

// Memory implements storage.Txn.
func (t *txn) Memory() int64 {
	s := t.state
	if s == nil || s.batch == nil || s.committed != nil {
		return 0
	}
	return int64(cap(s.batch.Repr()) + ownWriteBytes*cap(s.writes) + latestBytes*len(s.latest) +
		lockBytes*len(s.owner.Held()))
}

// Rollback implements storage.Txn.
func (t *txn) Rollback() {
	if t.state != nil {
		t.end()
	}
}
