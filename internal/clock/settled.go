package clock

import (
	"sync"
	"time"
)

const (
	// tolerance is by how much a clock may be set forward and be believed at once, as a
	// synchronised clock is.
	tolerance = 10 * time.Second
	// patience is for how long a clock that was set further must go on from there until it is
	// believed.
	patience = time.Minute
)

// Settled is the computer's clock for what a wrong time would harm for good: the removal of what
// has expired, and stamps that never go back. A clock that jumps forward is believed only when it
// has stayed there for a minute; until then time goes on as it did before. A clock that goes back
// is believed at once. Settled is safe for concurrent use.
type Settled struct {
	read func() (wall time.Time, elapsed time.Duration)

	mu   sync.Mutex
	base time.Time     // what was believed last
	at   time.Duration // when that was
	// A jump that is not believed yet: by how much, and since when.
	jump  time.Duration
	since time.Duration
}

// Settle returns the settled form of the computer's clock, and every other clock as it is.
func Settle(c Clock) Clock {
	if _, ok := c.(System); !ok {
		return c
	}
	start := time.Now()
	return newSettled(func() (time.Time, time.Duration) {
		now := time.Now()
		return now, now.Sub(start) // by the monotonic clock, which nobody sets
	})
}

func newSettled(read func() (time.Time, time.Duration)) *Settled {
	s := &Settled{read: read}
	s.base, s.at = read()
	return s
}

// Now implements Clock.
func (s *Settled) Now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	wall, at := s.read()
	expected := s.base.Add(at - s.at)
	// Round takes the monotonic reading away, by which Sub would measure.
	ahead := wall.Round(0).Sub(expected.Round(0))
	switch {
	case ahead <= tolerance:
	case s.jump == 0 || (ahead-s.jump).Abs() > tolerance:
		s.jump, s.since = ahead, at
		return expected
	case at-s.since < patience:
		return expected
	}
	s.base, s.at, s.jump = wall, at, 0
	return wall
}
