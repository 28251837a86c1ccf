package pipeline_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
	"github.com/sheafdb/sheaf/internal/expressions"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/pipeline"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
	"github.com/sheafdb/sheaf/internal/pipeline/source"
)

// sharedSource divides its documents among three goroutines. The first one may get none.
type sharedSource struct {
	borrowedSource
	shares int
}

// Share implements source.Shared.
func (s *sharedSource) Share(ctx context.Context, work func(context.Context, source.Source) error) (int, error) {
	s.shares++
	var wg sync.WaitGroup
	errs := make([]error, 3)
	for i := range errs {
		from, to := len(s.docs)*i*i/9, len(s.docs)*(i+1)*(i+1)/9
		wg.Go(func() { errs[i] = work(ctx, &borrowedSource{docs: s.docs[from:to]}) })
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return 3, err
		}
	}
	return 3, nil
}

// TestParallelGroup checks that several goroutines give the same groups as one, in memory and
// spilled.
func TestParallelGroup(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	docs := make([]bsonx.Doc, 700)
	for i := range docs {
		docs[i] = bsonxtest.Parse(t, fmt.Sprintf(`{"_id": %d, "a": %d, "s": "s%d", "l": [{"n": %d}, {"n": %d}, {}], "x": %d.25}`,
			i, random.IntN(40), random.IntN(7), random.IntN(5), random.IntN(90), random.IntN(1000)))
	}
	colls := fakeCollections{"f": docs[:30], "indexedF": docs[:30]}
	cases := []struct {
		stages string
		shared bool
	}{
		{`[{"$group": {"_id": "$a", "n": {"$sum": 1}, "x": {"$avg": "$x"}, "min": {"$min": "$x"}, "max": {"$max": "$s"}, "c": {"$count": {}}}}]`, true},
		{`[{"$match": {"a": {"$gt": 3}}}, {"$unwind": "$l"}, {"$group": {"_id": {"n": "$l.n", "s": "$s"}, "x": {"$sum": "$x"}}}, {"$match": {"x": {"$gt": 900}}}]`, true},
		{`[{"$project": {"y": {"$multiply": ["$x", 2]}, "m": {"$mod": ["$a", 3]}}}, {"$match": {"y": {"$gt": 10}}}, {"$sortByCount": "$m"}]`, true},
		{`[{"$lookup": {"from": "f", "localField": "a", "foreignField": "_id", "as": "r"}}, {"$unwind": "$r"}, {"$group": {"_id": "$r.s", "n": {"$sum": "$x"}}}]`, true},
		{`[{"$lookup": {"from": "f", "let": {"a": "$a"}, "pipeline": [{"$match": {"$expr": {"$eq": ["$a", "$$a"]}}}], "as": "r"}}, {"$group": {"_id": {"$size": "$r"}, "n": {"$sum": 1}}}]`, true},
		{`[{"$bucket": {"groupBy": "$a", "boundaries": [0, 10, 20], "default": "more", "output": {"n": {"$sum": 1}, "m": {"$max": "$x"}}}}]`, true},
		{`[{"$match": {"a": -1}}, {"$group": {"_id": null, "n": {"$sum": 1}}}]`, true},
		{`[{"$group": {"_id": "$a", "first": {"$first": "$_id"}}}]`, false},
		{`[{"$limit": 50}, {"$group": {"_id": "$a", "n": {"$sum": 1}}}]`, false},
		{`[{"$group": {"_id": {"$lt": [{"$rand": {}}, 2]}, "n": {"$sum": 1}}}]`, false},
		{`[{"$match": {"a": 1}}]`, false},
	}
	for _, c := range cases {
		for _, limit := range []int{0, 3000} {
			env := colls.env()
			env.MemoryLimit, env.AllowDiskUse, env.TempDir = limit, true, t.TempDir()
			stages := bsonxtest.Parse(t, `{"v":`+c.stages+`}`).Lookup("v")
			want := outcomeOf(stages, docs, parsing.RuleParallel, env)
			src := &sharedSource{borrowedSource: borrowedSource{docs: docs}}
			got := drained(t, mustParse(t, c.stages, parsing.Options{Vars: expressions.Scope()}), src, env)
			if (src.shares > 0) != c.shared {
				t.Errorf("%s: shared %d times", c.stages, src.shares)
			}
			if got.err != nil || want.err != nil || !slices.EqualFunc(sorted(got.docs), sorted(want.docs), equalDocs) {
				t.Errorf("%s with a memory of %d: %v\n%s\nby one goroutine: %v\n%s", c.stages, limit, got.err,
					show(t, got.docs), want.err, show(t, want.docs))
			}
		}
	}
}

func drained(t *testing.T, p *pipeline.Pipeline, in source.Source, env *source.Env) outcome {
	t.Helper()
	src := p.Run(in, env)
	defer src.Close()
	var out outcome
	out.err = source.Drain(context.Background(), src, func(d bsonx.Doc) error {
		out.docs = append(out.docs, d.Clone())
		return nil
	})
	return out
}

// TestParallelGroupErrors checks that several goroutines return the error that a single goroutine
// meets first. They must not exceed a memory limit that suffices for one goroutine.
func TestParallelGroupErrors(t *testing.T) {
	t.Parallel()
	docs := make([]bsonx.Doc, 90)
	for i := range docs {
		docs[i] = bsonxtest.Parse(t, fmt.Sprintf(`{"_id": %d, "a": %d, "b": 1}`, i, i%9))
	}
	docs[20] = bsonxtest.Parse(t, `{"_id": 20, "a": "x", "b": 1}`)
	docs[80] = bsonxtest.Parse(t, `{"_id": 80, "a": 1, "b": 0}`)
	p := mustParse(t, `[{"$project": {"v": {"$divide": ["$a", "$b"]}}}, {"$group": {"_id": "$v", "n": {"$sum": 1}}}]`, parsing.Options{Vars: expressions.Scope()})
	for range 20 {
		got := drained(t, p, &sharedSource{borrowedSource: borrowedSource{docs: docs}}, nil)
		if mongoerr.CodeOf(got.err) != mongoerr.TypeMismatch {
			t.Fatal(got.err)
		}
	}
	p = mustParse(t, `[{"$group": {"_id": "$a", "n": {"$sum": 1}}}]`, parsing.Options{Vars: expressions.Scope()})
	alone := func(limit int) outcome {
		return drained(t, p, &borrowedSource{docs: docs}, &source.Env{MemoryLimit: limit})
	}
	enough := 100
	for ; alone(enough).err != nil; enough += 10 {
	}
	got := drained(t, p, &sharedSource{borrowedSource: borrowedSource{docs: docs}}, &source.Env{MemoryLimit: enough})
	if got.err != nil || len(got.docs) != 10 {
		t.Errorf("with %d bytes: %d groups, %v", enough, len(got.docs), got.err)
	}
	got = drained(t, p, &sharedSource{borrowedSource: borrowedSource{docs: docs}},
		&source.Env{MemoryLimit: enough - 10})
	if mongoerr.CodeOf(got.err) != mongoerr.QueryExceededMemoryLimitNoDiskUseAllowed {
		t.Errorf("with %d bytes: %v", enough-10, got.err)
	}
}
