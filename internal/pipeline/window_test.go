package pipeline_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expressions"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
	"github.com/sheafdb/sheaf/internal/pipeline/source"
)

func TestWindowMemory(t *testing.T) {
	t.Parallel()
	docs := make([]bsonx.Doc, 2000)
	for i := range docs {
		docs[i] = bsonx.NewDoc("_id", i, "s", strings.Repeat("x", 100))
	}
	// A running total keeps no documents. A window that ends after the current document keeps the
	// whole partition.
	for stages, code := range map[string]mongoerr.Code{
		`[{"$setWindowFields": {"output": {"n": {"$locf": "$s"}}}}]`:                                   0,
		`[{"$setWindowFields": {"output": {"n": {"$count": {}}}}}]`:                                    mongoerr.QueryExceededMemoryLimitNoDiskUseAllowed,
		`[{"$setWindowFields": {"output": {"n": {"$push": "$s"}}}}]`:                                   mongoerr.QueryExceededMemoryLimitNoDiskUseAllowed,
		`[{"$setWindowFields": {"partitionBy": {"$mod": ["$_id", 2]}, "output": {"n": {"$sum": 1}}}}]`: mongoerr.QueryExceededMemoryLimitNoDiskUseAllowed,
	} {
		p := mustParse(t, stages, parsing.Options{Vars: expressions.Scope()})
		_, err := batch(p.Run(&source.Slice{Docs: docs}, &source.Env{MemoryLimit: 50_000}))
		if got := mongoerr.CodeOf(err); err != nil && got != code || err == nil && code != 0 {
			t.Errorf("%s: %v", stages, err)
		}
	}
}

// TestWindowSpills runs functions over partitions beyond the memory limit. The results must be the
// same as in memory.
func TestWindowSpills(t *testing.T) {
	t.Parallel()
	docs := make([]bsonx.Doc, 3000)
	for i := range docs {
		docs[i] = bsonx.NewDoc("_id", i, "g", i%2, "n", (i*7919)%3000, "s", strings.Repeat("x", i%400))
		if i%5 > 0 {
			docs[i] = bsonx.NewDoc("_id", i, "g", i%2, "n", (i*7919)%3000, "s",
				strings.Repeat("x", i%400), "v", float64(i%97)/8)
		}
	}
	dir := t.TempDir()
	for _, function := range []string{
		`{"$sum": "$v"}`,
		`{"$avg": "$v", "window": {"documents": [-3, 2]}}`,
		`{"$sum": "$v", "window": {"documents": ["unbounded", -5]}}`,
		`{"$max": "$s", "window": {"documents": [10, 20]}}`,
		`{"$first": "$s", "window": {"documents": [-20, -10]}}`,
		`{"$min": "$s", "window": {"range": [-20, 5]}}`,
		`{"$stdDevPop": "$v", "window": {"range": ["current", 30]}}`,
		`{"$shift": {"output": "$s", "by": 7}}`,
		`{"$shift": {"output": "$s", "by": -7}}`,
		`{"$linearFill": "$v"}`,
		`{"$locf": "$v"}`,
		`{"$rank": {}}`,
		`{"$derivative": {"input": "$n"}, "window": {"documents": [-2, 2]}}`,
	} {
		stages := `[{"$setWindowFields": {"partitionBy": "$g", "sortBy": {"n": 1}, "output": {"a": {"$count": {}}, "b": ` + function + `, "c": {"$sum": "$v"}}}}]`
		p := mustParse(t, stages, parsing.Options{Vars: expressions.Scope()})
		want, err := batch(p.Run(&source.Slice{Docs: docs}, nil))
		if err != nil {
			t.Fatalf("%s: %v", function, err)
		}
		got, err := batch(p.Run(&source.Slice{Docs: docs},
			&source.Env{MemoryLimit: 200_000, AllowDiskUse: true, TempDir: dir}))
		if err != nil || !got.Equal(want) {
			t.Errorf("%s: answers differ from those without a spill, %v", function, err)
		}
	}
	p := mustParse(t, `[{"$setWindowFields": {"output": {"n": {"$push": "$s"}}}}]`, parsing.Options{Vars: expressions.Scope()})
	if _, err := batch(p.Run(&source.Slice{Docs: docs},
		&source.Env{MemoryLimit: 200_000, AllowDiskUse: true, TempDir: dir})); mongoerr.CodeOf(err) != 5414201 {
		t.Errorf("what a function keeps does not count: %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v left behind, %v", left, err)
	}
}

func TestDensifyLimit(t *testing.T) {
	t.Parallel()
	p := mustParse(t, `[{"$densify": {"field": "n", "range": {"step": 1, "bounds": [0, 500001]}}}]`, parsing.Options{Vars: expressions.Scope()})
	n := 0
	err := source.Drain(context.Background(), p.Run(&source.Slice{}, nil), func(bsonx.Doc) error { n++; return nil })
	if mongoerr.CodeOf(err) != 5897900 || n != 500_000 {
		t.Errorf("%d documents, %v", n, err)
	}
}

// BenchmarkWindow computes window functions for each of 100 customers: a running total, a sliding
// average and a sum over a range.
func BenchmarkWindow(b *testing.B) {
	docs := make([]bsonx.Doc, 10_000)
	for i := range docs {
		docs[i] = bsonx.NewDoc("_id", i, "customer", i%100, "date", (i*7919)%10_000, "amount", float64(i),
			"status", strings.Repeat("s", i%20))
	}
	for name, function := range map[string]string{
		"runningTotal": `{"$sum": "$amount", "window": {"documents": ["unbounded", "current"]}}`,
		"slidingAvg":   `{"$avg": "$amount", "window": {"documents": [-10, 0]}}`,
		"range":        `{"$sum": "$amount", "window": {"range": [-500, 0]}}`,
	} {
		b.Run(name, func(b *testing.B) {
			p := mustParse(b, `[{"$setWindowFields": {"partitionBy": "$customer", "sortBy": {"date": 1}, "output": {"total": `+function+`}}}]`, parsing.Options{Vars: expressions.Scope()})
			b.ReportAllocs()
			for b.Loop() {
				drain(b, p, docs, nil)
			}
			b.ReportMetric(float64(len(docs)*b.N)/b.Elapsed().Seconds(), "docs/s")
		})
	}
}
