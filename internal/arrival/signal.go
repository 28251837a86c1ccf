package arrival

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/sheafdb/sheaf/internal/clock"
)

// After waking its waiters, a Signal rests for restPerWaiter for each of them, but at most for
// maxRest, before it wakes others. If messages come faster, each waiter then gets several together.
// Waking 40 listeners for each message would leave a publisher a fiftieth of the processor: over
// TCP, a getMore takes about 50 µs of it. A message to a quiet topic is still announced
// immediately.
const (
	restPerWaiter = 100 * time.Microsecond
	maxRest       = 5 * time.Millisecond
)

// Signal tells any number of waiters of the next arrival. The zero value is ready for use.
type Signal struct {
	awaited atomic.Bool   // next is not nil
	count   atomic.Uint64 // number of arrivals

	mu      sync.Mutex
	next    chan struct{} // nil while nobody waits
	waiters int           // number of waiters on next
	resting bool          // waiters were woken just now
	pending bool          // something arrived during the rest
}

// Wait returns a channel that is closed after the next arrival, and the number of arrivals so far.
func (s *Signal) Wait() (next <-chan struct{}, count uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.enlist(), s.count.Load()
}

// enlist adds a waiter and returns its channel. The caller holds the lock.
func (s *Signal) enlist() chan struct{} {
	if s.next == nil {
		s.next = make(chan struct{})
		s.awaited.Store(true)
	}
	s.waiters++
	return s.next
}

// Rest returns a channel that is closed at the end of the current rest. It returns nil if the
// signal does not rest, or if nothing has arrived since count was returned by Wait.
func (s *Signal) Rest(count uint64) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.resting || s.count.Load() == count {
		return nil
	}
	s.pending = true
	return s.enlist()
}

// Announce counts an arrival and wakes the waiters, at once or at the end of the rest.
func (s *Signal) Announce() {
	s.count.Add(1)
	if !s.awaited.Load() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.next == nil:
	case s.resting:
		s.pending = true
	default:
		s.wake()
	}
}

// wake wakes the waiters and starts a rest. The caller holds the lock; there must be waiters.
func (s *Signal) wake() {
	close(s.next)
	rest := min(time.Duration(s.waiters)*restPerWaiter, maxRest)
	s.next, s.waiters, s.pending, s.resting = nil, 0, false, true
	s.awaited.Store(false)
	clock.AfterFunc(clock.Computer, rest, s.rested)
}

func (s *Signal) rested() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.resting = false
	if s.pending && s.next != nil {
		s.wake()
	}
}
