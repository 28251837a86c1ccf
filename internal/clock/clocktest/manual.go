package clocktest

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/sheafdb/sheaf/internal/clock"
)

// Manual is a clock.Driver that stands still between calls of Advance. It is safe for concurrent
// use.
type Manual struct {
	mu     sync.Mutex
	now    time.Time
	timers []*timer
	count  int           // number of timers started so far
	armed  chan struct{} // closed when a timer starts
}

var _ clock.Driver = (*Manual)(nil)

// New returns a clock that shows the time now.
func New(now time.Time) *Manual { return &Manual{now: now, armed: make(chan struct{})} }

// Now implements clock.Clock.
func (m *Manual) Now() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now
}

// Advance moves the clock by d. Before it returns, it calls the functions of all timers that are
// due, in order.
func (m *Manual) Advance(d time.Duration) {
	m.mu.Lock()
	end := m.now.Add(d)
	for {
		t := m.first()
		if t == nil || t.at.After(end) {
			break
		}
		m.remove(t)
		m.now = t.at
		m.mu.Unlock()
		t.f()
		m.mu.Lock()
	}
	m.now = end
	m.mu.Unlock()
}

// Wait returns when n timers were started since the clock was created. A reset counts as a start.
func (m *Manual) Wait(n int) {
	for {
		m.mu.Lock()
		count, armed := m.count, m.armed
		m.mu.Unlock()
		if count >= n {
			return
		}
		<-armed
	}
}

// first returns the timer that is due first, or nil if there are no timers. The caller holds the
// lock.
func (m *Manual) first() *timer {
	if len(m.timers) == 0 {
		return nil
	}
	return slices.MinFunc(m.timers, func(a, b *timer) int { return cmp.Compare(a.at.UnixNano(), b.at.UnixNano()) })
}

// remove removes a timer, and reports whether the timer was running. The caller holds the lock.
func (m *Manual) remove(t *timer) bool {
	i := slices.Index(m.timers, t)
	if i >= 0 {
		m.timers = slices.Delete(m.timers, i, i+1)
	}
	return i >= 0
}

// start starts a timer. The caller holds the lock.
func (m *Manual) start(t *timer, d time.Duration) {
	t.at = m.now.Add(d)
	m.timers = append(m.timers, t)
	m.count++
	close(m.armed)
	m.armed = make(chan struct{})
}

// AfterFunc implements clock.Driver.
func (m *Manual) AfterFunc(d time.Duration, f func()) clock.Timer {
	t := &timer{clock: m, f: f}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.start(t, d)
	return t
}

type timer struct {
	clock *Manual
	f     func()
	at    time.Time
}

// Stop implements clock.Timer.
func (t *timer) Stop() bool {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	return t.clock.remove(t)
}

// Reset implements clock.Timer.
func (t *timer) Reset(d time.Duration) bool {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	ran := t.clock.remove(t)
	t.clock.start(t, d)
	return ran
}
