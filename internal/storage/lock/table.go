package lock

import (
	"context"
	"hash/maphash"
	"sync"
	"sync/atomic"

	"github.com/sheafdb/sheaf/internal/storage"
)

const (
	shardCount = 64
	// keepHeld is the largest list of held locks that an Owner keeps for its next use.
	keepHeld = 1024
)

// Table is a set of exclusive locks. It is safe for concurrent use.
type Table struct {
	seed   maphash.Seed
	shards [shardCount]shard
	// waits serialises the registration of waits, so that the search for cycles sees all of them.
	// An owner that takes a free lock does not need this mutex.
	waits     sync.Mutex
	closed    atomic.Bool
	waitCount atomic.Int64
}

type shard struct {
	mu    sync.Mutex
	locks map[uint64]entry
	// Each shard has cache lines of its own.
	_ [64]byte
}

// entry is a held lock: its owner and the queue of waiters.
type entry struct {
	owner      *Owner
	head, tail *Owner
}

// Owner holds locks. The zero Owner holds no locks. It may be used again after Table.Release.
type Owner struct {
	held []uint64
	// next is the next owner in the queue of the lock that this owner waits for. The shard's mutex
	// guards it.
	next *Owner
	// waiting is the hash of the lock that this owner waits for, or 0. It changes only under the
	// shard's mutex.
	waiting atomic.Uint64
	// granted receives one value for each wait that another goroutine ends. The first wait makes
	// the channel.
	granted chan struct{}
}

// Held returns the hashes of the locks that the owner holds. The slice is valid until the next
// call.
func (o *Owner) Held() []uint64 { return o.held }

// NewTable returns an empty table.
func NewTable() *Table {
	t := &Table{seed: maphash.MakeSeed()}
	for i := range t.shards {
		t.shards[i].locks = make(map[uint64]entry)
	}
	return t
}

// Hash returns the hash that identifies a key. It is never 0.
func (t *Table) Hash(key []byte) uint64 {
	h := maphash.Bytes(t.seed, key)
	if h == 0 {
		return 1
	}
	return h
}

// Waits returns the number of Lock calls that had to wait.
func (t *Table) Waits() int64 { return t.waitCount.Load() }

func (t *Table) shard(hash uint64) *shard { return &t.shards[hash%shardCount] }

// TryLock takes a lock unless another owner has it. It reports whether o now holds the lock.
func (t *Table) TryLock(o *Owner, hash uint64) bool {
	s := t.shard(hash)
	s.mu.Lock()
	e, held := s.locks[hash]
	if !held {
		s.locks[hash] = entry{owner: o}
	}
	s.mu.Unlock()
	if !held {
		o.held = append(o.held, hash)
		return true
	}
	return e.owner == o
}

// Lock takes a lock and waits for it until ctx ends. It returns storage.ErrConflict if waiting
// would close a cycle, storage.ErrClosed after Close, or the error of ctx.
func (t *Table) Lock(ctx context.Context, o *Owner, hash uint64) error {
	if t.closed.Load() {
		return storage.ErrClosed
	}
	if t.TryLock(o, hash) {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	granted, err := t.enqueue(o, hash)
	if granted || err != nil {
		return err
	}
	t.waitCount.Add(1)
	select {
	case <-o.granted:
	case <-ctx.Done():
		if t.abandon(o, hash) {
			return ctx.Err()
		}
		// The lock was granted, or the table closed, at the same moment.
		<-o.granted
	}
	if t.closed.Load() {
		return storage.ErrClosed
	}
	o.held = append(o.held, hash)
	return nil
}

// enqueue puts o at the end of the lock's queue. It grants the lock instead if it was released
// meanwhile. It fails if the wait would close a cycle.
func (t *Table) enqueue(o *Owner, hash uint64) (granted bool, err error) {
	if o.granted == nil {
		o.granted = make(chan struct{}, 1)
	}
	t.waits.Lock()
	defer t.waits.Unlock()
	if t.closed.Load() {
		return false, storage.ErrClosed
	}
	if t.cycle(o, hash) {
		return false, storage.ErrConflict
	}
	s := t.shard(hash)
	s.mu.Lock()
	defer s.mu.Unlock()
	e, held := s.locks[hash]
	if !held {
		s.locks[hash] = entry{owner: o}
		o.held = append(o.held, hash)
		return true, nil
	}
	o.next = nil
	o.waiting.Store(hash)
	if e.tail == nil {
		e.head = o
	} else {
		e.tail.next = o
	}
	e.tail = o
	s.locks[hash] = e
	return false, nil
}

// cycle reports whether o would wait, directly or not, for itself. The caller holds t.waits, so
// that no other wait begins meanwhile.
//
// The owner of the lock may change before o is queued. That is harmless: the new owner was waiting
// for this lock, so it waits for no other lock, and its next wait searches for cycles again.
func (t *Table) cycle(o *Owner, hash uint64) bool {
	for hash != 0 {
		s := t.shard(hash)
		s.mu.Lock()
		owner := s.locks[hash].owner
		var next uint64
		if owner != nil {
			next = owner.waiting.Load()
		}
		s.mu.Unlock()
		if owner == o {
			return true
		}
		hash = next
	}
	return false
}

// abandon removes o from a queue. It reports false if o is no longer queued.
func (t *Table) abandon(o *Owner, hash uint64) bool {
	s := t.shard(hash)
	s.mu.Lock()
	defer s.mu.Unlock()
	if o.waiting.Load() == 0 {
		return false
	}
	o.waiting.Store(0)
	e := s.locks[hash]
	var previous *Owner
	for w := e.head; w != o; w = w.next {
		previous = w
	}
	if previous == nil {
		e.head = o.next
	} else {
		previous.next = o.next
	}
	if e.tail == o {
		e.tail = previous
	}
	o.next = nil
	s.locks[hash] = e
	return true
}

// Release releases all locks of o. Each goes to the first owner that waits for it.
func (t *Table) Release(o *Owner) {
	for _, hash := range o.held {
		t.release(hash)
	}
	if cap(o.held) > keepHeld {
		o.held = nil
	}
	o.held = o.held[:0]
}

func (t *Table) release(hash uint64) {
	s := t.shard(hash)
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.locks[hash]
	w := e.head
	if w == nil {
		delete(s.locks, hash)
		return
	}
	e.owner, e.head = w, w.next
	if e.head == nil {
		e.tail = nil
	}
	w.next = nil
	s.locks[hash] = e
	w.waiting.Store(0)
	w.granted <- struct{}{}
}

// Close ends all waits and all later calls of Lock with storage.ErrClosed. Held locks stay held.
func (t *Table) Close() {
	t.waits.Lock()
	defer t.waits.Unlock()
	t.closed.Store(true)
	for i := range t.shards {
		s := &t.shards[i]
		s.mu.Lock()
		for hash, e := range s.locks {
			for w := e.head; w != nil; {
				next := w.next
				w.next = nil
				w.waiting.Store(0)
				w.granted <- struct{}{}
				w = next
			}
			e.head, e.tail = nil, nil
			s.locks[hash] = e
		}
		s.mu.Unlock()
	}
}
