package server

import (
	"time"
)

// The pause after an accept that failed for want of descriptors or memory doubles between these.
const (
	acceptRetry    = 50 * time.Millisecond
	maxAcceptRetry = time.Second
	// acceptLogPause is how often such failures are logged, at most.
	acceptLogPause = 10 * time.Second
)

// backoff is what an accept loop does about failures that pass.
type backoff struct {
	pause  time.Duration
	logged time.Time
	silent int // failures that were not logged
}

// failed returns how long to wait, and whether to log the failure with those that were not.
func (b *backoff) failed(now time.Time) (pause time.Duration, log bool) {
	b.pause = min(max(2*b.pause, acceptRetry), maxAcceptRetry)
	if !b.logged.IsZero() && now.Sub(b.logged) < acceptLogPause {
		b.silent++
		return b.pause, false
	}
	b.logged = now
	return b.pause, true
}

// succeeded begins with short pauses again.
func (b *backoff) succeeded() { b.pause = 0 }

// refusals limits how often the refusal of connections is logged. It is guarded by the server's lock.
type refusals struct {
	logged time.Time
	silent int
}

// note reports whether to log a refusal, and how many before were not.
func (r *refusals) note(now time.Time) (silent int, log bool) {
	if !r.logged.IsZero() && now.Sub(r.logged) < acceptLogPause {
		r.silent++
		return 0, false
	}
	silent, r.silent, r.logged = r.silent, 0, now
	return silent, true
}
