package clock

import "time"

// Clock tells the time.
type Clock interface {
	Now() time.Time
}

// System is the computer's clock.
type System struct{}

// Computer is the computer's clock. It is for time that the processor or the disk takes, which
// tests cannot move: the time limits of regular expressions and JavaScript, the durations that
// explain measures, attempts to use the disk, and the rests in which a publisher gets its share of
// the processor. The linter refuses Computer elsewhere, and System everywhere but in the programs
// and in package sheaf.
var Computer System

// Now returns the current time.
func (System) Now() time.Time { return time.Now() }

// OrSystem returns c, or the computer's clock if c is nil. It is for the defaults of options.
func OrSystem(c Clock) Clock {
	if c == nil {
		return System{}
	}
	return c
}

// Fixed is a clock that stands still.
type Fixed time.Time

// Now returns the fixed time.
func (f Fixed) Now() time.Time { return time.Time(f) }

// Since returns the time passed since t, which must come from the same clock. For the computer's
// clock it reads only the monotonic time. That costs half as much as Now, and setting the clock
// does not affect it.
func Since(c Clock, t time.Time) time.Duration {
	if _, ok := c.(System); ok {
		return time.Since(t)
	}
	return c.Now().Sub(t)
}
