package patterntest

import (
	"context"
	"sync"
	"time"
)

// Clock is a patterns.Clock whose time changes only when a test calls Advance. It is safe for
// concurrent use.
type Clock struct {
	mu    sync.Mutex
	now   time.Time
	moved chan struct{}
	// asleep has the end of each running Sleep, by the number of the Sleep.
	asleep map[int]time.Time
	sleeps int
}

// NewClock returns a clock that shows a fixed date.
func NewClock() *Clock {
	return &Clock{
		now:   time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC),
		moved: make(chan struct{}), asleep: map[int]time.Time{},
	}
}

// Now implements patterns.Clock.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock forward and wakes the sleepers whose time is over.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	close(c.moved)
	c.moved = make(chan struct{})
}

// Sleepers returns the number of running Sleeps whose time is not over. A test that advances the
// clock for another goroutine first waits until this goroutine sleeps. Otherwise the goroutine may
// have read the clock before, and may begin its Sleep after the Advance.
func (c *Clock) Sleepers() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, until := range c.asleep {
		if c.now.Before(until) {
			n++
		}
	}
	return n
}

// Sleep implements patterns.Clock.
func (c *Clock) Sleep(ctx context.Context, d time.Duration) error {
	id, until := c.fallAsleep(d)
	defer c.wake(id)
	for {
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

func (c *Clock) fallAsleep(d time.Duration) (id int, until time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sleeps++
	until = c.now.Add(d)
	c.asleep[c.sleeps] = until
	return c.sleeps, until
}

func (c *Clock) wake(id int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.asleep, id)
}
