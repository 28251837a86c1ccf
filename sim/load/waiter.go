package load

import (
	"context"
	"time"

	"github.com/sheafdb/sheaf/patterns"
)

// coarse is how long before a moment a waiter switches from the runtime's timers to a fine timer.
const coarse = 2 * time.Millisecond

// waiter waits for the moments at which users are due. It is more precise than the runtime's
// timers: in an idle process on Linux, these are late by up to a millisecond, the resolution of the
// runtime's poller.
type waiter struct {
	clock patterns.Clock
	fine  *fineTimer // nil if the system has no fine timer
}

func newWaiter(clock patterns.Clock) *waiter {
	w := &waiter{clock: clock}
	if _, ok := clock.(patterns.SystemClock); ok {
		w.fine = newFineTimer()
	}
	return w
}

// until waits for a moment. If ctx ends earlier, it returns the error of ctx.
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
