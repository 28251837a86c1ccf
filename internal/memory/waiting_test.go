package memory

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
)

// enqueue makes a holding wait for n bytes, and returns when it waits. The channel receives the
// result.
func enqueue(ctx context.Context, b *Budget, h *Holding, n int64) <-chan error {
	before, got := b.Stats().Waiting, make(chan error, 1)
	go func() { got <- h.Admit(ctx, n) }()
	for b.Stats().Waiting == before {
		runtime.Gosched()
	}
	return got
}

// TestTryAdmit takes free memory, but does not overtake waiting requests.
func TestTryAdmit(t *testing.T) {
	t.Parallel()
	b := New(10 * Step)
	first, second, third := b.Hold(), b.Hold(), b.Hold()
	if !first.TryAdmit(4 * Step) {
		t.Fatal("there is room")
	}
	if second.TryAdmit(4*Step) || second.Held() != 0 {
		t.Error("half of the budget is the most")
	}
	got := enqueue(t.Context(), b, &second, 4*Step)
	if third.TryAdmit(Step) {
		t.Error("somebody waits")
	}
	if q := b.Queue(); q != (Queue{Admitted: 1, Granted: 1, First: 4 * Step, Missing: 3 * Step}) {
		t.Errorf("the queue is %+v", q)
	}
	first.Release()
	if err := <-got; err != nil {
		t.Fatal(err)
	}
	if q := b.Queue(); q != (Queue{Admitted: 1, Granted: 2}) {
		t.Errorf("the queue is %+v", q)
	}
	var none Holding
	if !none.TryAdmit(1<<30) || (*Budget)(nil).Queue() != (Queue{}) {
		t.Error("no budget has no limit")
	}
	second.Release()
}

// TestDeadlineAsCause ends a wait by its cause. A deadline becomes ExceededMemoryLimit, and any
// other cause is returned unchanged.
func TestDeadlineAsCause(t *testing.T) {
	t.Parallel()
	b := New(10 * Step)
	b.Press(true)
	for _, cause := range []error{context.DeadlineExceeded, context.Canceled} {
		ctx, end := context.WithCancelCause(t.Context())
		h := b.Hold()
		got := enqueue(ctx, b, &h, 4*Step)
		if q := b.Queue(); !q.Pressed || q.Missing != 0 {
			t.Errorf("the queue is %+v", q)
		}
		end(cause)
		err := <-got
		if exceeded := err != cause; exceeded != (cause == context.DeadlineExceeded) { //nolint:errorlint // it is returned as it is
			t.Errorf("%v: %v", cause, err)
		}
		if pressed := strings.Contains(err.Error(), "the server has no memory left"); !pressed &&
			errors.Is(cause, context.DeadlineExceeded) {
			t.Errorf("the error blames the requests: %v", err)
		}
	}
	if s := b.Stats(); s.Waiting != 0 || s.Used != 0 || s.Refused != 1 {
		t.Errorf("stats %+v", s)
	}
}
