package table

import (
	"sync"
	"sync/atomic"
	"time"
)

// After waiters were woken it takes restPerWaiter for each of them, at most maxRest, until others are: where messages come
// faster, each waiter gets several at once. Waking 40 listeners for each message leaves a publisher a fiftieth of the
// processor: over TCP, a getMore is about 50 µs of it. A message into a quiet topic is still told at once.
const (
	restPerWaiter = 100 * time.Microsecond
	maxRest       = 5 * time.Millisecond
)

// arrivals tells any number of waiters of the next insert.
type arrivals struct {
	awaited atomic.Bool   // whether next is there
	count   atomic.Uint64 // of what arrived

	mu      sync.Mutex
	next    chan struct{} // nil while nobody waits
	waiters int           // of next
	resting bool          // waiters were woken just now
	pending bool          // something arrived since
}

// wait returns a channel that is closed after the next arrival, and how many there were.
func (a *arrivals) wait() (next <-chan struct{}, count uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.enlist(), a.count.Load()
}

// enlist needs the lock.
func (a *arrivals) enlist() chan struct{} {
	if a.next == nil {
		a.next = make(chan struct{})
		a.awaited.Store(true)
	}
	a.waiters++
	return a.next
}

// rest is for who knows of so many arrivals: it returns a channel that is closed when the rest is over, nil where there is none, or
// nothing else has arrived.
func (a *arrivals) rest(count uint64) <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.resting || a.count.Load() == count {
		return nil
	}
	a.pending = true
	return a.enlist()
}

// announce wakes the waiters, at once or when the rest is over.
func (a *arrivals) announce() {
	a.count.Add(1)
	if !a.awaited.Load() {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.next == nil:
	case a.resting:
		a.pending = true
	default:
		a.wake()
	}
}

// wake needs the lock, and waiters.
func (a *arrivals) wake() {
	close(a.next)
	rest := min(time.Duration(a.waiters)*restPerWaiter, maxRest)
	a.next, a.waiters, a.pending, a.resting = nil, 0, false, true
	a.awaited.Store(false)
	time.AfterFunc(rest, a.rested)
}

func (a *arrivals) rested() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.resting = false
	if a.pending && a.next != nil {
		a.wake()
	}
}
