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
	// asleep are the ends of the sleeps under way, by number.
	asleep map[int]time.Time
	sleeps int
}

// NewClock returns a clock that stands at a fixed date.
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

// Advance moves the clock and wakes those whose sleep is over.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	close(c.moved)
	c.moved = make(chan struct{})
}

// Sleepers returns how many sleep. A test that moves the clock by a certain time for someone else
// waits until they do: else they may have looked at the clock before, and sleep from then on.
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
