package clock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/sheafdb/sheaf/internal/clock"
	"github.com/sheafdb/sheaf/internal/clock/clocktest"
)

// TestTimeoutFollowsADriver lets the time of a context pass. The context and a context made from it
// must end with the same error as contexts of the standard library.
func TestTimeoutFollowsADriver(t *testing.T) {
	t.Parallel()
	m := clocktest.New(start)
	ctx, cancel := clock.WithTimeout(context.WithValue(t.Context(), m, "value"), m, time.Hour)
	defer cancel()
	child, cancelChild := context.WithCancel(ctx)
	defer cancelChild()
	if m.Advance(time.Hour - 1); ctx.Err() != nil {
		t.Fatalf("%v too early", ctx.Err())
	}
	if _, ok := ctx.Deadline(); ok || ctx.Value(m) != "value" {
		t.Error("a context has the deadline and the values of its parent")
	}
	m.Advance(1)
	<-ctx.Done()
	<-child.Done()
	for _, c := range []context.Context{ctx, child} {
		if !errors.Is(c.Err(), context.DeadlineExceeded) || !errors.Is(context.Cause(c), context.DeadlineExceeded) {
			t.Errorf("ended with %v, cause %v", c.Err(), context.Cause(c))
		}
	}
	if cancel(); !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		t.Errorf("%v after the function was called", ctx.Err())
	}
}

// TestTimeoutEndsEarly ends contexts before their time. The timer must not fire later.
func TestTimeoutEndsEarly(t *testing.T) {
	t.Parallel()
	ended := errors.New("ended")
	for _, c := range []clock.Clock{clocktest.New(start), clock.System{}, clock.Fixed(start)} {
		ctx, cancel := clock.WithTimeout(t.Context(), c, time.Hour)
		if cancel(); !errors.Is(ctx.Err(), context.Canceled) {
			t.Errorf("%T: %v after the function was called", c, ctx.Err())
		}
		parent, endParent := context.WithCancelCause(t.Context())
		ctx, cancel = clock.WithTimeout(parent, c, time.Hour)
		endParent(ended)
		<-ctx.Done()
		if !errors.Is(ctx.Err(), context.Canceled) || !errors.Is(context.Cause(ctx), ended) {
			t.Errorf("%T: %v, cause %v after the parent ended", c, ctx.Err(), context.Cause(ctx))
		}
		cancel()
		ctx, cancel = clock.WithTimeout(parent, c, time.Hour)
		if !errors.Is(ctx.Err(), context.Canceled) {
			t.Errorf("%T: %v with a parent that has ended", c, ctx.Err())
		}
		cancel()
		ctx, cancel = clock.WithTimeout(t.Context(), c, 0)
		if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
			t.Errorf("%T: %v without any time", c, ctx.Err())
		}
		cancel()
		if m, ok := c.(*clocktest.Manual); ok {
			m.Advance(2 * time.Hour)
		}
	}
}

func TestSystemTimeout(t *testing.T) {
	t.Parallel()
	ctx, cancel := clock.WithTimeout(t.Context(), clock.System{}, time.Millisecond)
	defer cancel()
	<-ctx.Done()
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		t.Error(ctx.Err())
	}
}
