package pipeline_test

import (
	"context"
	"strings"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/pipeline"
)

func TestWindowMemory(t *testing.T) {
	t.Parallel()
	docs := make([]bsonx.Doc, 2000)
	for i := range docs {
		docs[i] = bsonx.NewDoc("_id", i, "s", strings.Repeat("x", 100))
	}
	// A running total keeps nothing; a window up to the end keeps the partition.
	for stages, code := range map[string]mongoerr.Code{
		`[{"$setWindowFields": {"output": {"n": {"$locf": "$s"}}}}]`:                                   0,
		`[{"$setWindowFields": {"output": {"n": {"$count": {}}}}}]`:                                    mongoerr.QueryExceededMemoryLimitNoDiskUseAllowed,
		`[{"$setWindowFields": {"output": {"n": {"$push": "$s"}}}}]`:                                   mongoerr.QueryExceededMemoryLimitNoDiskUseAllowed,
		`[{"$setWindowFields": {"partitionBy": {"$mod": ["$_id", 2]}, "output": {"n": {"$sum": 1}}}}]`: mongoerr.QueryExceededMemoryLimitNoDiskUseAllowed,
	} {
		p := mustParse(t, stages, pipeline.Options{})
		_, err := batch(p.Run(&pipeline.SliceSource{Docs: docs}, &pipeline.Env{MemoryLimit: 50_000}))
		if got := mongoerr.CodeOf(err); err != nil && got != code || err == nil && code != 0 {
			t.Errorf("%s: %v", stages, err)
		}
	}
}

func TestDensifyLimit(t *testing.T) {
	t.Parallel()
	p := mustParse(t, `[{"$densify": {"field": "n", "range": {"step": 1, "bounds": [0, 500001]}}}]`, pipeline.Options{})
	n := 0
	err := pipeline.Drain(context.Background(), p.Run(&pipeline.SliceSource{}, nil), func(bsonx.Doc) error { n++; return nil })
	if mongoerr.CodeOf(err) != 5897900 || n != 500_000 {
		t.Errorf("%d documents, %v", n, err)
	}
}

// BenchmarkWindow computes a running total and a sliding average for each of 100 customers.
func BenchmarkWindow(b *testing.B) {
	docs := make([]bsonx.Doc, 10_000)
	for i := range docs {
		docs[i] = bsonx.NewDoc("_id", i, "customer", i%100, "date", (i*7919)%10_000, "amount", float64(i), "status", strings.Repeat("s", i%20))
	}
	for name, function := range map[string]string{
		"runningTotal": `{"$sum": "$amount", "window": {"documents": ["unbounded", "current"]}}`,
		"slidingAvg":   `{"$avg": "$amount", "window": {"documents": [-10, 0]}}`,
		"range":        `{"$sum": "$amount", "window": {"range": [-500, 0]}}`,
	} {
		b.Run(name, func(b *testing.B) {
			p := mustParse(b, `[{"$setWindowFields": {"partitionBy": "$customer", "sortBy": {"date": 1}, "output": {"total": `+function+`}}}]`, pipeline.Options{})
			b.ReportAllocs()
			for b.Loop() {
				if err := pipeline.Drain(context.Background(), p.Run(&pipeline.SliceSource{Docs: docs}, nil), func(bsonx.Doc) error { return nil }); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(docs)*b.N)/b.Elapsed().Seconds(), "docs/s")
		})
	}
}
