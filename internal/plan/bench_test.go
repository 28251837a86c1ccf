package plan_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/keyspace"
	"github.com/sheafdb/sheaf/internal/plan/query"
	"github.com/sheafdb/sheaf/internal/storage/pebble"
)

// benchFixture returns a collection on Pebble with n documents of 1 KB and ten fields.
func benchFixture(b *testing.B, n int) *fixture {
	b.Helper()
	engine, err := pebble.Open(b.TempDir(), pebble.Options{MemoryBudget: 512 << 20, Keep: keyspace.IsRecord})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = engine.Close() })
	f := newFixtureOn(b, engine)
	f.index("a_1", bsonxtest.MustParse(`{"a": 1}`))
	pad := strings.Repeat("x", 880)
	for from := 0; from < n; from += 1000 {
		var docs []bsonx.Doc
		for i := from; i < min(from+1000, n); i++ {
			docs = append(docs, bsonx.NewDoc("_id", i, "a", i, "b", i%100, "c", i%7, "d",
				float64(i), "e", true, "f", nil,
				"g", fmt.Sprint(i), "h", "h", "pad", pad))
		}
		f.insert(docs...)
	}
	if err := engine.Checkpoint(""); err != nil {
		b.Fatal(err)
	}
	return f
}

func BenchmarkPlan(b *testing.B) {
	const n = 100_000
	f := benchFixture(b, n)
	tests := []struct {
		name, filter, sort string
		limit              int64
		docs               int // documents that a query examines
	}{
		{"Scan", `{"b": 1000}`, "", 0, n},
		{"ID", `{"_id": 4711}`, "", 0, 1},
		{"Equality", `{"a": 4711}`, "", 0, 1},
		{"EqualityLimit1", `{"a": 4711}`, "", 1, 1},
		{"Range100", `{"a": {"$gte": 500, "$lt": 600}}`, "", 0, 100},
		{"TopSort", `{}`, `{"b": 1, "d": -1}`, 20, n},
		{"Sort", `{}`, `{"b": 1, "d": -1}`, 0, n},
	}
	for _, tt := range tests {
		b.Run(tt.name, func(b *testing.B) {
			q := f.query(tt.filter, tt.sort)
			q.Limit = tt.limit
			b.ReportAllocs()
			for b.Loop() {
				f.exhaust(b, q)
			}
			b.ReportMetric(float64(tt.docs)*float64(b.N)/b.Elapsed().Seconds(), "docs/s")
		})
	}
}

func (f *fixture) exhaust(b *testing.B, q *query.Query) {
	ctx := context.Background()
	r := exec.NewReader(f.store.Newest())
	defer func() { _ = r.Close() }()
	e, err := f.planner.Find(ctx, q, r)
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close()
	for {
		row, err := e.Next(ctx)
		if err != nil {
			b.Fatal(err)
		}
		if row == nil {
			return
		}
	}
}
