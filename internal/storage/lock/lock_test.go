package lock

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/sheafdb/sheaf/internal/storage"
)

// TestTableExcludes locks random keys in random order from many goroutines. A lock has one owner at
// a time, deadlocks end with ErrConflict, and nobody waits for ever.
func TestTableExcludes(t *testing.T) {
	t.Parallel()
	const keys, workers, rounds = 6, 8, 300
	table := NewTable()
	var holders [keys]*Owner
	var wg sync.WaitGroup
	conflicts := make([]int, workers)
	for w := range workers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			rng := rand.New(rand.NewPCG(3, uint64(w)))
			owner := new(Owner)
			for range rounds {
				var held []int
				for range 3 {
					k := rng.IntN(keys)
					ctx, cancel := context.WithTimeout(context.Background(),
						time.Duration(rng.IntN(2000))*time.Microsecond)
					err := table.Lock(ctx, owner, table.Hash([]byte{byte(k)}))
					cancel()
					if err != nil {
						if errors.Is(err, storage.ErrConflict) {
							conflicts[w]++
						} else if !errors.Is(err, context.DeadlineExceeded) {
							t.Errorf("Lock: %v", err)
						}
						break
					}
					if holder := holders[k]; holder != nil && holder != owner {
						t.Errorf("key %d has two owners", k)
					}
					holders[k] = owner
					held = append(held, k)
				}
				for _, k := range held {
					holders[k] = nil
				}
				table.Release(owner)
			}
		}()
	}
	wg.Wait()
	for i := range table.shards {
		if n := len(table.shards[i].locks); n > 0 {
			t.Errorf("%d locks are left in shard %d", n, i)
		}
	}
}

// TestHistoryShrinks keeps overlapping snapshot transactions open all the time. The history must
// not grow with the number of commits.
func TestHistoryShrinks(t *testing.T) {
	t.Parallel()
	var h History
	old := h.Begin()
	for n := range uint64(100_000) {
		h.Record([]uint64{n * 0x9E3779B97F4A7C15})
		if n%100 == 99 {
			next := h.Begin()
			h.End(old)
			old = next
		}
	}
	if n := h.Len(); n > 2000 {
		t.Fatalf("%d records are kept", n)
	}
	h.End(old)
	if n := h.Len(); n != 0 || h.active.Load() != 0 {
		t.Fatalf("%d records and %d transactions are left", n, h.active.Load())
	}
	h.Record([]uint64{1})
	if n := h.Len(); n != 0 {
		t.Fatal("a commit was recorded for nobody")
	}
}

func TestHistoryChanged(t *testing.T) {
	t.Parallel()
	var h History
	first := h.Begin()
	h.Record([]uint64{1, 2})
	second := h.Begin()
	h.Record([]uint64{2})
	for _, c := range []struct {
		hash, begun uint64
		want        bool
	}{{1, first, true}, {2, first, true}, {3, first, false}, {1, second, false}, {2, second, true}} {
		if got := h.Changed(c.hash, c.begun); got != c.want {
			t.Errorf("Changed(%d, %d) = %v", c.hash, c.begun, got)
		}
	}
	// Transactions end in any order.
	third := h.Begin()
	h.End(second)
	h.Record([]uint64{3})
	if !h.Changed(1, first) || !h.Changed(3, third) || h.Changed(2, third) {
		t.Error("ending a younger transaction changed what an older one sees")
	}
	h.End(first)
	h.End(third)
}

func BenchmarkLock(b *testing.B) {
	table, owner, key := NewTable(), new(Owner), []byte("0123456789")
	b.ReportAllocs()
	for b.Loop() {
		if err := table.Lock(context.Background(), owner, table.Hash(key)); err != nil {
			b.Fatal(err)
		}
		table.Release(owner)
	}
}
