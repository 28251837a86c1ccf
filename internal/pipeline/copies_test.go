package pipeline_test

import (
	"context"
	"strings"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expressions"
	"github.com/sheafdb/sheaf/internal/memory"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
	"github.com/sheafdb/sheaf/internal/pipeline/source"
)

// TestCopiesAreCounted produces large results that a stage holds in several copies at once, and
// checks that the memory budget counts each copy.
func TestCopiesAreCounted(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1<<20)
	var docs []bsonx.Doc
	for i := range 8 {
		docs = append(docs, bsonx.NewDoc("_id", i, "long", long))
	}
	const all = 8 << 20
	for _, c := range []struct {
		stages      string
		copies      int64 // how often the memory of all documents is counted at the peak
		memoryLimit int
	}{
		{`[{"$group": {"_id": null, "x": {"$push": "$long"}}}]`, 3, 100 << 20},
		{`[{"$group": {"_id": null, "x": {"$addToSet": "$_id"}, "y": {"$push": "$$ROOT"}}}]`, 3, 100 << 20},
		{`[{"$group": {"_id": null, "x": {"$push": "$long"}}}]`, 3, 4 << 20},
		{`[{"$bucketAuto": {"groupBy": "$_id", "buckets": 1, "output": {"x": {"$push": "$long"}}}}]`, 4, 100 << 20},
		{`[{"$limit": 1}, {"$lookup": {"from": "f", "pipeline": [], "as": "x"}}]`, 3, 100 << 20},
		{`[{"$limit": 1}, {"$lookup": {"from": "f", "pipeline": [{"$sample": {"size": 100}}], "as": "x"}}]`, 2, 100 << 20},
		{`[{"$limit": 1}, {"$lookup": {"from": "f", "pipeline": [], "as": "x"}}, {"$unwind": "$x"}]`, 1, 100 << 20},
	} {
		budget := memory.New(1 << 30)
		var op memory.Operation
		op.Use(budget)
		env := fakeCollections{"f": docs}.env()
		env.Memory, env.MemoryLimit, env.AllowDiskUse, env.TempDir = budget, c.memoryLimit, true, t.TempDir()
		ctx := context.WithValue(t.Context(), memory.OperationKey(), &op)
		src := mustParse(t, c.stages, parsing.Options{Vars: expressions.Scope()}).Run(&source.Slice{Docs: docs}, env)
		if err := source.Drain(ctx, src, func(bsonx.Doc) error { return nil }); err != nil {
			t.Error(err)
		}
		src.Close()
		op.Release()
		if s := budget.Stats(); s.Peak < c.copies*all || s.Peak > (c.copies+4)*all || s.Used != 0 {
			t.Errorf("%s: %d MiB were counted, want at least %d; %d bytes remain", c.stages, s.Peak>>20, c.copies*all>>20, s.Used)
		}
	}
}
