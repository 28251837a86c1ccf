//go:build unix

package plan_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/plan"
	"github.com/sheafdb/sheaf/internal/storage/pebble"
)

// countFixture returns a collection of n documents of 1 KB. Their field u is a random number below
// 1,000,000 and has no index.
func countFixture(b *testing.B, n int, memory int64) *fixture {
	b.Helper()
	engine, err := pebble.Open(b.TempDir(), pebble.Options{MemoryBudget: memory})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = engine.Close() })
	f := newFixtureOn(b, engine)
	for from := 0; from < n; from += 1000 {
		var docs []bsonx.Doc
		for i := from; i < from+1000; i++ {
			random := rand.New(rand.NewPCG(uint64(i), 1))
			text := func(n int) string {
				const alphabet = "eeeetttaaooiinnsshhrrdlcum wfgypbvk"
				s := make([]byte, n)
				for i := range s {
					s[i] = alphabet[random.IntN(len(alphabet))]
				}
				return string(s)
			}
			docs = append(docs, bsonx.NewDoc("_id", int64(i), "n", int64(0), "s",
				fmt.Sprintf("user%08d", i), "r", int64(i*7919%n),
				"g", int64(i%1000), "c", "category", "u", random.Int64N(1_000_000), "p1", text(224),
				"p2", text(224), "p3", text(448)))
		}
		f.insert(docs...)
	}
	if err := engine.Checkpoint(""); err != nil {
		b.Fatal(err)
	}
	return f
}

// processTime returns the processor time that the process has used.
func processTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkCount counts by a collection scan, with one processor and with all, with all blocks in
// the cache and with a cache that is too small for them.
func BenchmarkCount(b *testing.B) {
	const n = 200_000
	for _, m := range []struct {
		name   string
		memory int64
	}{{"Cached", 512 << 20}, {"Embedded", pebble.DefaultMemoryBudget}} {
		b.Run(m.name, func(b *testing.B) {
			f := countFixture(b, n, m.memory)
			q := f.query(`{"u": {"$lt": 1000}}`)
			want := int64(-1)
			for _, workers := range []int{1, 2} {
				planner := plan.New(plan.Options{Processors: workers})
				b.Run(fmt.Sprint("Processors", workers), func(b *testing.B) {
					start := processTime(b)
					for b.Loop() {
						r := exec.NewReader(f.store.Newest())
						got, err := planner.Count(context.Background(), q, r, nil)
						if err != nil || want >= 0 && got != want {
							b.Fatal(got, err)
						}
						want = got
						_ = r.Close()
					}
					b.ReportMetric(float64(b.Elapsed())/float64(n*b.N), "ns/doc")
					b.ReportMetric(float64(processTime(b)-start)/float64(n*b.N), "cpu-ns/doc")
				})
			}
		})
	}
}
