package lock

import (
	"sort"
	"sync"
	"sync/atomic"
)

// pruneStep is the most old records that adding a record removes. It is greater than one, so that a
// backlog shrinks.
const pruneStep = 4

// History remembers which locks recent commits held, as long as snapshot transactions that need to
// know are open. The zero History is empty. It is safe for concurrent use.
type History struct {
	// active counts the open snapshot transactions. While it is 0, nothing is recorded.
	active atomic.Int64
	// last is the number of the latest recorded commit.
	last atomic.Uint64
	// oldest is the number at which the oldest open snapshot transaction began.
	oldest atomic.Uint64

	mu sync.Mutex
	// starts are the numbers at which the open snapshot transactions began, ascending.
	starts []start
	shards [shardCount]historyShard
}

type start struct {
	number uint64
	open   int
}

type historyShard struct {
	mu      sync.Mutex
	changed map[uint64]uint64
	// queue has the records from head on, approximately in the order of their numbers.
	queue []record
	head  int
	_     [64]byte
}

type record struct{ hash, number uint64 }

// Begin registers a snapshot transaction. The caller takes the snapshot afterwards, and passes the
// number to Changed and End.
func (h *History) Begin() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.active.Add(1)
	number := h.last.Load()
	if n := len(h.starts); n > 0 && h.starts[n-1].number == number {
		h.starts[n-1].open++
		return number
	}
	h.starts = append(h.starts, start{number: number, open: 1})
	h.oldest.Store(h.starts[0].number)
	return number
}

// End ends a snapshot transaction.
func (h *History) End(number uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	i := sort.Search(len(h.starts), func(i int) bool { return h.starts[i].number >= number })
	h.starts[i].open--
	n := 0
	for n < len(h.starts) && h.starts[n].open == 0 {
		n++
	}
	h.starts = append(h.starts[:0], h.starts[n:]...)
	if h.active.Add(-1) == 0 {
		h.clear()
		return
	}
	h.oldest.Store(h.starts[0].number)
}

// clear forgets everything. A concurrent Record may still add a record afterwards, but its number
// is too small to matter for later snapshot transactions.
func (h *History) clear() {
	for i := range h.shards {
		s := &h.shards[i]
		s.mu.Lock()
		s.changed, s.queue, s.head = nil, nil, 0
		s.mu.Unlock()
	}
}

// Record records that a commit, which is visible now, changed the keys that these locks protect.
// The transaction still holds the locks.
func (h *History) Record(hashes []uint64) {
	if h.active.Load() == 0 || len(hashes) == 0 {
		return
	}
	number := h.last.Add(1)
	for _, hash := range hashes {
		s := &h.shards[hash%shardCount]
		s.mu.Lock()
		if s.changed == nil {
			s.changed = make(map[uint64]uint64)
		}
		s.changed[hash] = number
		s.queue = append(s.queue, record{hash: hash, number: number})
		s.prune(h.oldest.Load())
		s.mu.Unlock()
	}
}

// prune removes some of the records that no open snapshot transaction needs.
func (s *historyShard) prune(oldest uint64) {
	for range pruneStep {
		if s.head == len(s.queue) || s.queue[s.head].number > oldest {
			break
		}
		r := s.queue[s.head]
		s.head++
		if s.changed[r.hash] == r.number {
			delete(s.changed, r.hash)
		}
	}
	if s.head > 64 && s.head*2 > len(s.queue) {
		s.queue = s.queue[:copy(s.queue, s.queue[s.head:])]
		s.head = 0
	}
}

// Changed reports whether the key that a lock protects was changed after Begin returned number. The
// caller holds the lock.
func (h *History) Changed(hash, number uint64) bool {
	s := &h.shards[hash%shardCount]
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed[hash] > number
}

// Len returns the number of records.
func (h *History) Len() int {
	n := 0
	for i := range h.shards {
		s := &h.shards[i]
		s.mu.Lock()
		n += len(s.queue) - s.head
		s.mu.Unlock()
	}
	return n
}
