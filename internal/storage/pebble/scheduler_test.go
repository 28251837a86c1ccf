package pebble

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// waitingStore stands for a store with compactions to run.
type waitingStore struct {
	s *scheduler

	mu              sync.Mutex
	allowed, asked  int
	waiting         int
	told            bool // the scheduler knows that something waits
	running         []pebble.CompactionGrantHandle
	refuses, broken bool
}

func (c *waitingStore) GetAllowedWithoutPermission() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked++
	return c.allowed
}

func (c *waitingStore) GetWaitingCompaction() (bool, pebble.WaitingCompaction) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.told = c.told && c.waiting > 0
	return c.told, pebble.WaitingCompaction{}
}

func (c *waitingStore) Schedule(h pebble.CompactionGrantHandle) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.refuses {
		return false
	}
	c.waiting--
	c.running = append(c.running, h)
	c.broken = c.broken || len(c.running) > c.allowed
	return true
}

// add has n more compactions to run, and starts those that may, as Pebble does.
func (c *waitingStore) add(n int) {
	c.change(func() { c.waiting += n })
	for {
		c.mu.Lock()
		done := c.told || c.waiting == 0
		c.mu.Unlock()
		if done {
			return
		}
		ok, h := c.s.TrySchedule()
		c.change(func() {
			if c.told = !ok; ok {
				c.waiting--
				c.running = append(c.running, h)
			}
		})
	}
}

func (c *waitingStore) change(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
}

// finish ends the compaction that runs longest.
func (c *waitingStore) finish() {
	var h pebble.CompactionGrantHandle
	c.change(func() { h, c.running = c.running[0], c.running[1:] })
	h.Done()
}

func (c *waitingStore) expect(t *testing.T, running, waiting int) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.running) != running || c.waiting != waiting || c.broken {
		t.Errorf("%d run and %d wait, want %d and %d (more than allowed: %v)", len(c.running), c.waiting, running, waiting, c.broken)
	}
}

// TestScheduler follows compactions that start at once, after others have ended, and after a change of the limit of which the
// scheduler is not told.
func TestScheduler(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScheduler()
		c := &waitingStore{s: s, allowed: 2}
		s.Register(2, c)
		c.add(5)
		synctest.Wait()
		c.expect(t, 2, 3)
		c.finish()
		synctest.Wait()
		c.expect(t, 2, 2)
		c.change(func() { c.allowed = 3 })
		time.Sleep(2 * grantInterval)
		synctest.Wait()
		c.expect(t, 3, 1)
		c.change(func() { c.refuses = true })
		c.finish()
		synctest.Wait()
		c.expect(t, 2, 1)
		c.change(func() { c.refuses = false })
		time.Sleep(2 * grantInterval)
		synctest.Wait()
		c.expect(t, 3, 0)
		c.change(func() { c.allowed = 1 })
		c.add(1)
		c.finish()
		c.finish()
		synctest.Wait()
		c.expect(t, 1, 1)
		c.finish()
		synctest.Wait()
		c.expect(t, 1, 0)
		c.finish()
		s.Unregister()
		if ok, _ := s.TrySchedule(); ok {
			t.Error("a scheduler that is closed starts a compaction")
		}
	})
}

// TestSchedulerRests counts how often a scheduler looks while nothing waits.
func TestSchedulerRests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScheduler()
		c := &waitingStore{s: s, allowed: 1}
		s.Register(2, c)
		c.add(2)
		c.finish()
		synctest.Wait()
		c.finish()
		synctest.Wait()
		time.Sleep(2 * grantInterval)
		synctest.Wait()
		c.change(func() { c.asked = 0 })
		time.Sleep(time.Hour)
		synctest.Wait()
		if c.change(func() {}); c.asked > 0 {
			t.Errorf("it looked %d times", c.asked)
		}
		s.Unregister()
	})
}
