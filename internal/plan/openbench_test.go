package plan_test

import (
	"context"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
	"github.com/sheafdb/sheaf/internal/exec"
)

// BenchmarkOpen measures planning alone: the collection has four indexes and no documents, so plans
// have nothing to do. Queries with several candidates are repeated until the plan cache has them.
func BenchmarkOpen(b *testing.B) {
	f := newFixture(b)
	f.index("n", bsonxtest.MustParse(`{"n": 1}`))
	f.index("k", bsonxtest.MustParse(`{"k": 1}`))
	f.index("kn", bsonxtest.MustParse(`{"k": 1, "n": 1}`))
	f.index("s", bsonxtest.MustParse(`{"s": 1, "n": -1}`))
	tests := []struct {
		name, filter, sort, projection string
		limit                          int64
	}{
		{"Equality", `{"n": 4711}`, "", "", 0},
		{"EqualityResidual", `{"n": 4711, "x": 1}`, "", "", 0},
		{"Range", `{"n": {"$gte": 500, "$lt": 600}}`, "", "", 0},
		{"RangeCovered", `{"n": {"$gte": 500, "$lt": 600}}`, "", `{"n": 1, "_id": 0}`, 0},
		{"In3", `{"n": {"$in": [1, 2, 3]}}`, "", "", 0},
		{"Candidates2", `{"k": {"$gte": 500, "$lt": 600}}`, "", "", 0},
		{"Candidates4", `{"k": 7, "n": {"$gte": 500, "$lt": 600}, "s": "a"}`, "", "", 0},
		{"SortLimit", `{"k": 7}`, `{"n": -1}`, "", 20},
		{"RangeSort", `{"k": 7, "n": {"$gte": 500, "$lt": 600}}`, `{"n": 1}`, "", 0},
		{"Or", `{"$or": [{"k": 7}, {"n": 5}]}`, "", "", 0},
	}
	for _, tt := range tests {
		b.Run(tt.name, func(b *testing.B) {
			q := f.query(tt.filter, tt.sort, tt.projection)
			q.Limit = tt.limit
			r := exec.NewReader(f.store.Newest())
			defer func() { _ = r.Close() }()
			b.ReportAllocs()
			for b.Loop() {
				e, err := f.planner.Find(context.Background(), q, r)
				if err != nil {
					b.Fatal(err)
				}
				e.Close()
			}
		})
	}
}
