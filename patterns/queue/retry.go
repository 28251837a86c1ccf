package queue

import (
	"math/rand/v2"
	"time"
)

// Exponential returns a Backoff that doubles from first to at most limit, and then takes anything
// between half of it and all of it, so that jobs that failed together do not come back together.
func Exponential(first, limit time.Duration) func(attempt int) time.Duration {
	return func(attempt int) time.Duration {
		d := first
		for range attempt - 1 {
			if d > limit/2 {
				d = limit
				break
			}
			d *= 2
		}
		d = min(d, limit)
		return d/2 + rand.N(d/2+1)
	}
}

// Discard returns an error with which a handler says that no repetition helps: the job goes to the
// dead letters at once.
func Discard(err error) error { return &discardError{err} }

type discardError struct{ error }

func (e *discardError) Unwrap() error { return e.error }

// Snooze returns an error with which a handler says that the job shall be tried again in a while;
// the attempt does not count.
func Snooze(d time.Duration) error { return &snoozeError{d} }

type snoozeError struct{ d time.Duration }

func (e *snoozeError) Error() string { return "queue: not before " + e.d.String() }
