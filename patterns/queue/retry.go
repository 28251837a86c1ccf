package queue

import (
	"math/rand/v2"
	"time"
)

// Exponential returns a Backoff that doubles from first up to limit. The actual wait is a random
// time between half of that value and all of it, so that jobs that failed together are not retried
// together.
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

// Discard wraps an error so that the job is not tried again. A handler returns it if no retry can
// succeed; the job becomes a dead letter at once.
func Discard(err error) error { return &discardError{err} }

type discardError struct{ error }

func (e *discardError) Unwrap() error { return e.error }

// Snooze returns an error that makes the queue try the job again after d. The attempt does not
// count.
func Snooze(d time.Duration) error { return &snoozeError{d} }

type snoozeError struct{ d time.Duration }

func (e *snoozeError) Error() string { return "queue: not before " + e.d.String() }
