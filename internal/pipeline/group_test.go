package pipeline_test

import (
	"context"
	"strings"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expressions"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
	"github.com/sheafdb/sheaf/internal/pipeline/source"
)

// TestGroupSpills checks that the groups are the same whether or not they fit into memory.
func TestGroupSpills(t *testing.T) {
	t.Parallel()
	docs := make([]bsonx.Doc, 5000)
	for i := range docs {
		docs[i] = bsonx.NewDoc("_id", i, "k", i*7%97, "v", i%13, "f", float64(i%11)/8, "s", strings.Repeat("s", i%5))
	}
	fields := `"a": {"$sum": "$v"}, "b": {"$avg": "$f"}, "c": {"$min": "$f"}, "d": {"$max": "$v"}, "e": {"$first": "$_id"}, "f": {"$last": "$_id"},
		"g": {"$push": "$_id"}, "h": {"$addToSet": "$s"}, "j": {"$mergeObjects": {"m": "$_id"}}, "k": {"$firstN": {"n": 3, "input": "$_id"}},
		"l": {"$lastN": {"n": 3, "input": "$_id"}}, "m": {"$minN": {"n": 3, "input": "$_id"}}, "n": {"$maxN": {"n": 3, "input": "$_id"}},
		"o": {"$top": {"sortBy": {"v": 1}, "output": "$_id"}}, "p": {"$bottomN": {"n": 4, "sortBy": {"v": 1, "_id": 1}, "output": "$_id"}},
		"q": {"$percentile": {"input": "$f", "p": [0.1, 0.5], "method": "approximate"}}, "r": {"$count": {}}`
	for _, id := range []string{`"$k"`, `{"k": "$k", "s": "$s", "nope": "$nope"}`, `null`} {
		p := mustParse(t, `[{"$group": {"_id": `+id+`, `+fields+`}}, {"$sort": {"_id": 1}}]`,
			parsing.Options{Vars: expressions.Scope()})
		results := func(env *source.Env) (out []string) {
			src := p.Run(&source.Slice{Docs: docs}, env)
			defer src.Close()
			if err := source.Drain(context.Background(), src, func(d bsonx.Doc) error {
				out = append(out, print(t, d))
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			return out
		}
		want := results(nil)
		got := results(&source.Env{MemoryLimit: 100_000, AllowDiskUse: true, TempDir: t.TempDir()})
		if len(got) != len(want) {
			t.Fatalf("%s: %d groups, not %d", id, len(got), len(want))
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("%s:\n%s\n%s", id, got[i], want[i])
				break
			}
		}
	}
}

// BenchmarkGroupWide groups documents of about 400 bytes.
func BenchmarkGroupWide(b *testing.B) {
	docs := make([]bsonx.Doc, 10_000)
	for i := range docs {
		text := strings.Repeat("x", 60)
		docs[i] = bsonx.NewDoc("_id", i, "a", text, "customer", i%1000, "b", text, "amount", float64(i), "c", text,
			"d", text, "e", i, "f", i, "quantity", i%9, "g", text)
	}
	p := mustParse(b, `[{"$group": {"_id": "$customer", "n": {"$count": {}}, "total": {"$sum": "$amount"}, "avg": {"$avg": "$quantity"}}}]`, parsing.Options{Vars: expressions.Scope()})
	b.ReportAllocs()
	for b.Loop() {
		drain(b, p, docs, nil)
	}
	b.ReportMetric(float64(len(docs)*b.N)/b.Elapsed().Seconds(), "docs/s")
}
