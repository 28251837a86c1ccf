package memory

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
)

// TestLend takes memory and gives it back at random. Except for one step, the requests never hold
// more than the other users have given up.
func TestLend(t *testing.T) {
	t.Parallel()
	const limit, lendable = 1600, 1000
	b := New(limit)
	var left int64
	b.Lend(lendable, func(n int64) { left = n })
	random := rand.New(rand.NewPCG(1, 1))
	var held []int64
	for range 20_000 {
		if n := 1 + random.Int64N(200); random.IntN(2) == 0 && b.ask(n) {
			held = append(held, n)
		} else if len(held) > 0 {
			b.give(held[0])
			held = slices.Delete(held, 0, 1)
		}
		if random.IntN(3) == 0 {
			b.Relend()
		}
		if used := min(b.used.Load(), lendable); used > left+lendable/lendSteps {
			t.Fatalf("requests hold %d bytes, others have left them %d", used, left)
		}
	}
}

// TestLendTogether takes memory and gives it back on several goroutines. In the end all memory is
// lent again.
func TestLendTogether(t *testing.T) {
	t.Parallel()
	b := New(1600)
	var left int64 // yield is called by one goroutine at a time
	b.Lend(1000, func(n int64) { left = n })
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for n := range int64(5000) {
				if b.ask(n % 300) {
					b.give(n % 300)
				}
				b.Relend()
			}
		})
	}
	wg.Wait()
	for range lendSteps {
		b.Relend()
	}
	if left != 0 {
		t.Errorf("requests hold nothing, and others must still leave them %d bytes", left)
	}
}

// TestLendByStep checks how much memory others must give up to a single holder that grows and
// shrinks.
func TestLendByStep(t *testing.T) {
	t.Parallel()
	b := New(3200)
	var calls []int64
	b.Lend(1600, func(n int64) { calls = append(calls, n) })
	for range 20 {
		if !b.ask(90) {
			t.Fatal("no room")
		}
	}
	if want := []int64{200, 400, 600, 800, 1000, 1200, 1400, 1600}; !slices.Equal(calls, want) {
		t.Errorf("growing: %v, want %v", calls, want)
	}
	calls = nil
	b.give(1500)
	for range 20 {
		b.Relend()
	}
	// The holder still has 300 bytes.
	if want := []int64{1500, 1400, 1300, 1200, 1100, 1000, 900, 800, 700, 600, 500, 400}; !slices.Equal(calls, want) {
		t.Errorf("shrinking: %v, want %v", calls, want)
	}
	b.Press(true)
	b.Relend()
	if got := calls[len(calls)-1]; got != 1600 {
		t.Errorf("others must leave %d bytes while the process has no memory, want all", got)
	}
	b.Press(false)
	b.Relend()
	if got := calls[len(calls)-1]; got != 1500 {
		t.Errorf("others must leave %d bytes after the first look, want 1500", got)
	}
}

// TestNothingLent has budgets that lend nothing.
func TestNothingLent(t *testing.T) {
	t.Parallel()
	fail := func(int64) { t.Error("asked for memory that was not lent") }
	var none *Budget
	none.Lend(100, fail)
	none.Relend()
	b := New(100)
	b.Lend(0, fail)
	b.ask(90)
	b.Press(true)
	b.Press(false)
	b.Relend()
	b.give(90)
}
