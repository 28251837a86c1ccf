package clock

import (
	"sync"
	"time"
)

const (
	// tolerance is the largest jump forward that is accepted at once, because a clock that is
	// synchronised over the network makes such jumps.
	tolerance = 10 * time.Second
	// patience is how long a larger jump must last before it is accepted.
	patience = time.Minute
)

// settled is the computer's clock for work that a wrong time would damage permanently: the removal
// of expired documents, and timestamps that never go back. It accepts a jump forward of more than
// tolerance only after it has lasted for patience. Until then its time continues as before the
// jump. It accepts a jump back at once. settled is safe for concurrent use.
type settled struct {
	read func() (wall time.Time, elapsed time.Duration)

	mu   sync.Mutex
	base time.Time     // the last accepted time
	at   time.Duration // elapsed time at base
	// A jump that is not accepted yet: its size, and the elapsed time when it was first seen.
	jump  time.Duration
	since time.Duration
}

// Settle returns a settled for the computer's clock. It returns every other clock unchanged.
func Settle(c Clock) Clock {
	if _, ok := c.(System); !ok {
		return c
	}
	start := time.Now()
	return newSettled(func() (time.Time, time.Duration) {
		now := time.Now()
		return now, now.Sub(start) // by the monotonic clock, which cannot be set
	})
}

func newSettled(read func() (time.Time, time.Duration)) *settled {
	s := &settled{read: read}
	s.base, s.at = read()
	return s
}

// Now implements Clock.
func (s *settled) Now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	wall, at := s.read()
	expected := s.base.Add(at - s.at)
	// Round removes the monotonic reading, which Sub would use otherwise.
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
