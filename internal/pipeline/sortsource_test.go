package pipeline_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expressions"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
	"github.com/sheafdb/sheaf/internal/pipeline/source"
)

// TestSortSpills checks that a sort that spills to disk gives the same order as a sort in memory,
// with and without a limit.
func TestSortSpills(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	docs := make([]bsonx.Doc, 5000)
	for i := range docs {
		docs[i] = bsonx.NewDoc("_id", i, "a", rng.IntN(300), "s", strings.Repeat("x", rng.IntN(200)))
	}
	for _, stages := range []string{
		`[{"$sort": {"a": 1}}]`, `[{"$sort": {"s": -1, "a": 1}}]`, `[{"$sort": {"a": -1}}, {"$limit": 2000}]`,
		`[{"$sort": {"a": 1}}, {"$skip": 1500}, {"$limit": 700}]`, `[{"$sort": {"a": 1}}, {"$limit": 3}]`,
	} {
		p := mustParse(t, stages, parsing.Options{Vars: expressions.Scope()})
		want := drainAll(t, p.Run(&source.Slice{Docs: docs}, nil))
		got := drainAll(t, p.Run(&source.Slice{Docs: docs},
			&source.Env{MemoryLimit: 50_000, AllowDiskUse: true, TempDir: t.TempDir()}))
		if got != want {
			t.Errorf("%s: sorted on disk and in memory are not alike", stages)
		}
	}
}

// drainAll returns the bytes of all documents, concatenated, and closes the source.
func drainAll(t *testing.T, src source.Source) string {
	t.Helper()
	defer src.Close()
	var all strings.Builder
	if err := source.Drain(context.Background(), src,
		func(d bsonx.Doc) error { all.Write(d); return nil }); err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// BenchmarkSort sorts by two fields: 20 documents, 10,000 documents, and 10,000 documents with so
// little memory that runs spill to disk.
func BenchmarkSort(b *testing.B) {
	for _, bench := range []struct {
		name      string
		n, memory int
	}{{"few", 20, 0}, {"many", 10_000, 0}, {"spill", 10_000, 200 << 10}} {
		b.Run(bench.name, func(b *testing.B) {
			benchmarkSort(b, `[{"$sort": {"a": 1, "b": -1}}]`, bench.n, bench.memory)
		})
	}
}

// BenchmarkTopK sorts 10,000 documents by two fields, and keeps the first ten.
func BenchmarkTopK(b *testing.B) {
	benchmarkSort(b, `[{"$sort": {"a": 1, "b": -1}}, {"$limit": 10}]`, 10_000, 0)
}

func benchmarkSort(b *testing.B, stages string, n, memory int) {
	docs := make([]bsonx.Doc, n)
	for i := range docs {
		docs[i] = bsonx.NewDoc("_id", i, "a", i*7919%1000, "b", float64(i%13), "s", strings.Repeat("s", 200))
	}
	p := mustParse(b, stages, parsing.Options{Vars: expressions.Scope()})
	env := &source.Env{MemoryLimit: memory, AllowDiskUse: true, TempDir: b.TempDir()}
	b.ReportAllocs()
	for b.Loop() {
		src := p.Run(&source.Slice{Docs: docs}, env)
		if err := source.Drain(context.Background(), src, func(bsonx.Doc) error { return nil }); err != nil {
			b.Fatal(err)
		}
		src.Close()
	}
	b.ReportMetric(float64(len(docs)*b.N)/b.Elapsed().Seconds(), "docs/s")
}
