package pipeline_test

import (
	"context"
	"strings"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expressions"
	"github.com/sheafdb/sheaf/internal/memory"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
	"github.com/sheafdb/sheaf/internal/pipeline/source"
)

// TestLargeDocumentsAreHeld runs blocking stages over documents of 2 MiB that partly spill to disk.
// A stage must reserve the memory for a copy or sort key before it allocates it. So without room
// for one document the stage fails, and the reserved peak covers the memory in use.
func TestLargeDocumentsAreHeld(t *testing.T) {
	t.Parallel()
	const size, n = 2 << 20, 6
	docs := make([]bsonx.Doc, n)
	for i := range docs {
		docs[i] = bsonx.NewDoc("_id", i, "s", strings.Repeat(string(rune('f'-i)), size))
	}
	for stages, copies := range map[string]int64{
		`[{"$sort": {"_id": -1}}]`:                                  1,
		`[{"$sort": {"s": 1}}]`:                                     4,
		`[{"$sort": {"s": 1}}, {"$limit": 2}]`:                      4,
		`[{"$bucketAuto": {"groupBy": "$_id", "buckets": 2}}]`:      2,
		`[{"$bucketAuto": {"groupBy": "$s", "buckets": 2}}]`:        4,
		`[{"$setWindowFields": {"output": {"r": {"$count": {}}}}}]`: 1,
		`[{"$setWindowFields": {"sortBy": {"_id": 1}, "output": {"r": {"$shift": {"output": "$s", "by": -1}}}}}]`: 2,
		`[{"$setWindowFields": {"sortBy": {"_id": 1}, "output": {"r": {"$last": "$s"}}}}]`:                        2,
	} {
		p := mustParse(t, stages, parsing.Options{Vars: expressions.Scope()})
		run := func(docs []bsonx.Doc, limit int64) (peak int64, err error) {
			budget := memory.New(limit)
			src := p.Run(&source.Slice{Docs: docs},
				&source.Env{AllowDiskUse: true, TempDir: t.TempDir(), Memory: budget})
			err = source.Drain(context.Background(), src, func(bsonx.Doc) error { return nil })
			src.Close()
			if left := budget.Stats().Used; left != 0 {
				t.Errorf("%s: %d bytes are counted after the end", stages, left)
			}
			return budget.Stats().Peak, err
		}
		if _, err := run(docs, size-size/4); mongoerr.CodeOf(err) != mongoerr.ExceededMemoryLimit {
			t.Errorf("%s: %v without room for a document", stages, err)
		}
		if _, err := run(docs, 16*size); err != nil {
			t.Errorf("%s: %v", stages, err)
		}
		if peak, err := run(docs[:1], 16*size); err != nil || peak < copies*size {
			t.Errorf("%s: %v, %d bytes were counted, want %d copies of %d", stages, err, peak, copies, size)
		}
	}
}
