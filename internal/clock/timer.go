package clock

import (
	"context"
	"sync"
	"time"
)

// Timer is a timer of AfterFunc or NewTimer. *time.Timer implements it.
type Timer interface {
	// Stop and Reset work as the methods of time.Timer do.
	Stop() bool
	Reset(d time.Duration) bool
}

// Driver is a Clock whose timers follow its own time. The timers of other clocks follow the
// computer's time.
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

// NewTimer returns a timer and its channel. When d has passed, the timer sends the current time on
// the channel.
func NewTimer(c Clock, d time.Duration) (<-chan time.Time, Timer) {
	if own, ok := c.(Driver); ok {
		fired := make(chan time.Time, 1)
		return fired, own.AfterFunc(d, func() { send(fired, own.Now()) })
	}
	t := time.NewTimer(d)
	return t.C, t
}

// NewTicker returns a channel on which the time is sent every d. A tick that nobody is ready to
// receive is dropped. stop ends the ticker.
func NewTicker(c Clock, d time.Duration) (ticks <-chan time.Time, stop func()) {
	own, ok := c.(Driver)
	if !ok {
		t := time.NewTicker(d)
		return t.C, t.Stop
	}
	t := &ticker{fired: make(chan time.Time, 1), clock: own, every: d}
	t.mu.Lock() // the first tick may come before t.timer is set
	defer t.mu.Unlock()
	t.timer = own.AfterFunc(d, t.tick)
	return t.fired, t.stop
}

// ticker starts a timer of a Driver again and again.
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

// send sends without waiting. If the channel is full, it drops the value.
func send(to chan time.Time, now time.Time) {
	select {
	case to <- now:
	default:
	}
}

// Sleep returns nil when d has passed on the clock. If ctx ends earlier, it returns the cause of
// ctx.
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
