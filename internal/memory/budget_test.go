package memory

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/sheafdb/sheaf/internal/mongoerr"
)

func code(err error) mongoerr.Code {
	var e *mongoerr.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return 0
}

func TestHoldNeverWaits(t *testing.T) {
	b := New(10 * Step)
	x, y := b.Hold(), b.Hold()
	if err := x.Hold(8 * Step); err != nil {
		t.Fatal(err)
	}
	if err := y.Hold(3 * Step); code(err) != mongoerr.ExceededMemoryLimit {
		t.Fatalf("got %v", err)
	}
	if y.Fits(3 * Step) {
		t.Error("it does not fit")
	}
	if y.Held() != 0 {
		t.Errorf("a refused holding has %d bytes", y.Held())
	}
	y.Force(3 * Step)
	x.Release()
	y.Release()
	if s := b.Stats(); s.Used != 0 || s.Peak != 11*Step || s.Refused != 1 {
		t.Errorf("stats %+v", s)
	}
}

func TestAdmitWaitsForItsTurn(t *testing.T) {
	b := New(10 * Step)
	first := b.Hold()
	if err := first.Admit(t.Context(), 9*Step); err != nil {
		t.Fatal(err) // a single request may have more than half of the budget
	}
	got := make(chan error, 1)
	second := b.Hold()
	go func() { got <- second.Admit(context.Background(), 4*Step) }()
	select {
	case err := <-got:
		t.Fatalf("admitted beside the first: %v", err)
	case <-time.After(20 * time.Millisecond):
	}
	first.Release()
	if err := <-got; err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	third := b.Hold()
	if err := third.Admit(ctx, 9*Step); code(err) != mongoerr.ExceededMemoryLimit {
		t.Fatalf("got %v", err)
	}
	second.Release()
	if s := b.Stats(); s.Used != 0 || s.Waiting != 0 {
		t.Errorf("stats %+v", s)
	}
}

// TestAdmitLeavesRoom admits many messages. Half of the budget must stay free for the commands of
// the admitted ones.
func TestAdmitLeavesRoom(t *testing.T) {
	b := New(16 * Step)
	var wg sync.WaitGroup
	for range 32 {
		wg.Go(func() {
			h := b.Hold()
			defer h.Release()
			if err := h.Admit(context.Background(), 2*Step); err != nil {
				t.Error(err)
			}
			if err := h.Hold(4 * Step); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if s := b.Stats(); s.Used != 0 || s.Peak > 16*Step {
		t.Errorf("stats %+v", s)
	}
}

func TestAdmitOfMoreThanThereIs(t *testing.T) {
	b := New(4 * Step)
	idle := b.Hold()
	idle.Force(Step)
	h := b.Hold()
	if err := h.Admit(t.Context(), 100*Step); err != nil {
		t.Fatal(err)
	}
	h.Release()
	idle.Release()
}

func TestNoBudget(t *testing.T) {
	var b *Budget
	h := b.Hold()
	if err := errors.Join(h.Admit(t.Context(), 1<<40), h.Hold(1<<40)); err != nil || !h.Fits(1<<41) {
		t.Error(err)
	}
	h.Force(1 << 40)
	h.Release()
	if b.Share(4, 100) != 100 || b.Stats() != (Stats{}) {
		t.Error("a budget that is not there has no figures")
	}
}
