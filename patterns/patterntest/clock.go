package patterntest

import (
	"context"
	"sync"
	"time"
)

// Clock is a patterns.Clock that a test moves. It is safe for concurrent use.
type Clock struct {
	mu    sync.Mutex
	now   time.Time
	moved chan struct{}
}

// NewClock returns a clock that stands at a fixed date.
func NewClock() *Clock {
	return &Clock{now: time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC), moved: make(chan struct{})}
}

// Now implements patterns.Clock.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock and wakes those whose sleep is over.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	close(c.moved)
	c.moved = make(chan struct{})
}

// Sleep implements patterns.Clock.
func (c *Clock) Sleep(ctx context.Context, d time.Duration) error {
	for until := c.Now().Add(d); ; {
		c.mu.Lock()
		now, moved := c.now, c.moved
		c.mu.Unlock()
		if !now.Before(until) {
			return nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
