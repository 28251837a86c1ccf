package relief

import (
	"testing"
	"time"
)

// TestEstablishment checks that a burst of connections is admitted without a wait, that further
// connections wait one token's time each, and that connections are refused when the queue is full.
func TestEstablishment(t *testing.T) {
	t.Parallel()
	e := NewEstablishment()
	now := time.Unix(1, 0)
	if wait, ok := e.Admit(now); wait != 0 || !ok {
		t.Fatalf("without a limit: %v, %v", wait, ok)
	}
	e.set(func() { e.perSecond, e.burst, e.maxQueue = 20, 1, 2 })
	for i := range 20 {
		if wait, ok := e.Admit(now); wait != 0 || !ok {
			t.Fatalf("connection %d of the burst: %v, %v", i, wait, ok)
		}
	}
	for i, want := range []time.Duration{50 * time.Millisecond, 100 * time.Millisecond} {
		if wait, ok := e.Admit(now); (wait-want).Abs() > time.Millisecond || !ok {
			t.Errorf("connection %d of the queue: %v, %v", i, wait, ok)
		}
	}
	if _, ok := e.Admit(now); ok {
		t.Error("the queue has no end")
	}
	e.Leave(50*time.Millisecond, true)
	e.Leave(100*time.Millisecond, false)
	if wait, ok := e.Admit(now.Add(time.Second)); wait != 0 || !ok {
		t.Errorf("a second later: %v, %v", wait, ok)
	}
	c := e.counts
	if c.attempted != 25 || c.admitted != 23 || c.rejected != 1 || c.queued != 2 || c.unqueued != 2 ||
		c.waited != 150*time.Millisecond {
		t.Errorf("%+v", c)
	}
}
