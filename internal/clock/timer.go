package clock

import (
	"context"
	"sync"
	"time"
)

// Timer is a timer of AfterFunc or NewTimer. *time.Timer is one.
type Timer interface {
	// Stop and Reset are as those of time.Timer.
	Stop() bool
	Reset(d time.Duration) bool
}

// Driver is a Clock whose timers go by its own time. The timers of other clocks go by the
// computer's, as those of System do.
type Driver interface {
	Clock
	// AfterFunc calls f when d has passed.
	AfterFunc(d time.Duration, f func()) Timer
}

// AfterFunc calls f in a goroutine when d has passed on the clock.
func AfterFunc(c Clock, d time.Duration, f func()) Timer {
	if own, ok := c.(Driver); ok {
		return own.AfterFunc(d, f)
	}
	return time.AfterFunc(d, f)
}

// NewTimer returns a timer, and the channel on which it sends the time when d has passed.
func NewTimer(c Clock, d time.Duration) (<-chan time.Time, Timer) {
	if own, ok := c.(Driver); ok {
		fired := make(chan time.Time, 1)
		return fired, own.AfterFunc(d, func() { send(fired, own.Now()) })
	}
	t := time.NewTimer(d)
	return t.C, t
}

// NewTicker returns a channel on which the time is sent every d. Ticks for which nobody is ready
// are dropped. stop ends it.
func NewTicker(c Clock, d time.Duration) (ticks <-chan time.Time, stop func()) {
	own, ok := c.(Driver)
	if !ok {
		t := time.NewTicker(d)
		return t.C, t.Stop
	}
	t := &ticker{fired: make(chan time.Time, 1), clock: own, every: d}
	t.mu.Lock() // the first tick may come before its timer is known
	defer t.mu.Unlock()
	t.timer = own.AfterFunc(d, t.tick)
	return t.fired, t.stop
}

// ticker makes a timer of a Driver fire again and again.
type ticker struct {
	fired chan time.Time
	clock Driver
	every time.Duration

	mu      sync.Mutex
	timer   Timer
	stopped bool
}

func (t *ticker) tick() {
	send(t.fired, t.clock.Now())
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.stopped {
		t.timer = t.clock.AfterFunc(t.every, t.tick)
	}
}

func (t *ticker) stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stopped = true
	t.timer.Stop()
}

// send sends without waiting.
func send(to chan time.Time, now time.Time) {
	select {
	case to <- now:
	default:
	}
}

// Sleep returns when d has passed on the clock or when ctx ends, with the cause of that.
func Sleep(ctx context.Context, c Clock, d time.Duration) error {
	if d <= 0 {
		return context.Cause(ctx)
	}
	fired, timer := NewTimer(c, d)
	defer timer.Stop()
	select {
	case <-fired:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
