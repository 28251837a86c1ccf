package exec

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/index"
	"github.com/sheafdb/sheaf/internal/limits"
)

// BenchmarkSort sorts documents of 300 bytes: few, many, the first ten of many, and with so little
// memory that runs are spilled to disk.
func BenchmarkSort(b *testing.B) {
	docs := make([]bsonx.Doc, 50_000)
	random := rand.New(rand.NewPCG(3, 4))
	for i := range docs {
		name := fmt.Sprintf("customer-%08d", random.IntN(1_000_000))
		docs[i] = bsonx.NewDoc("_id", i, "n", int(random.Uint32N(5000)), "name", name, "pad", fmt.Sprintf("%0240d", i))
	}
	byNumber := index.Pattern{{Path: "n"}, {Path: "_id"}}
	for _, bench := range []struct {
		name   string
		n      int
		limit  int64
		memory int
		by     index.Pattern
	}{
		{"few", 20, 0, limits.OperatorBytes, byNumber},
		{"many", len(docs), 0, limits.OperatorBytes, byNumber},
		{"texts", len(docs), 0, limits.OperatorBytes, index.Pattern{{Path: "name"}}},
		{"top10", len(docs), 10, limits.OperatorBytes, byNumber},
		{"top5000", len(docs), 5000, limits.OperatorBytes, byNumber},
		{"spill", len(docs), 0, 2 << 20, byNumber},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			dir := b.TempDir()
			for b.Loop() {
				env := NewEnv(nil)
				env.TempDir, env.SortMemory, env.AllowDiskUse = dir, bench.memory, true
				n := NewSort(env, newRows(env, docs[:bench.n]), DocumentKey(bench.by, nil), bench.limit)
				for {
					row, err := n.Next(context.Background())
					if err != nil {
						b.Fatal(err)
					}
					if row == nil {
						break
					}
				}
				n.Close()
			}
		})
	}
}
