// Package clock is the source of time that is injected wherever Sheaf asks what time it is, so that tests
// decide it.
package clock

import "time"

// Clock tells the time.
type Clock interface {
	Now() time.Time
}

// System is the computer's clock.
type System struct{}

// Now returns the current time.
func (System) Now() time.Time { return time.Now() }

// Fixed is a clock that stands still.
type Fixed time.Time

// Now returns the fixed time.
func (f Fixed) Now() time.Time { return time.Time(f) }
