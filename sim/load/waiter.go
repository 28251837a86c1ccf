package load

import (
	"context"
	"time"

	"github.com/sheafdb/sheaf/patterns"
)

// coarse is how long before a moment the runtime's timers are left for a fine one.
const coarse = 2 * time.Millisecond

// waiter waits for the moments at which users are due, more exactly than timers of the runtime do: those of a process that is idle are late by up to a
// millisecond on Linux, which is what its poller counts in.
type waiter struct {
	clock patterns.Clock
	fine  *fineTimer // nil: there is none
}

func newWaiter(clock patterns.Clock) *waiter {
	w := &waiter{clock: clock}
	if _, ok := clock.(patterns.SystemClock); ok {
		w.fine = newFineTimer()
	}
	return w
}

// until waits for a moment, or until ctx ends, whose error it then returns.
func (w *waiter) until(ctx context.Context, at time.Time) error {
	wait := at.Sub(w.clock.Now())
	if wait <= 0 {
		return ctx.Err()
	}
	if w.fine == nil {
		return w.clock.Sleep(ctx, wait)
	}
	if wait > coarse {
		if err := w.clock.Sleep(ctx, wait-coarse); err != nil {
			return err
		}
		wait = at.Sub(w.clock.Now())
	}
	if wait > 0 && w.fine.wait(wait) != nil {
		return w.clock.Sleep(ctx, wait)
	}
	return ctx.Err()
}

func (w *waiter) close() {
	if w.fine != nil {
		w.fine.close()
	}
}
