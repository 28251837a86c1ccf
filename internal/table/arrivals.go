package table

import (
	"sync"
	"time"
)

// After waiters were woken it takes restPerWaiter for each of them, at most maxRest, until others are: where messages come
// faster, each waiter gets several at once. Waking 40 listeners for each message leaves a publisher a fiftieth of the
// processor; a message into a quiet topic is still told at once.
const (
	restPerWaiter = 25 * time.Microsecond
	maxRest       = 5 * time.Millisecond
)

// arrivals tells any number of waiters of the next insert.
type arrivals struct {
	mu      sync.Mutex
	next    chan struct{} // nil while nobody waits
	waiters int           // of next
	resting bool          // waiters were woken just now
	pending bool          // something arrived since
}

func (a *arrivals) wait() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.next == nil {
		a.next = make(chan struct{})
	}
	a.waiters++
	return a.next
}

// announce wakes the waiters, at once or when the rest is over.
func (a *arrivals) announce() {
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
