package plan

import (
	"context"
	"slices"

	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/plan/cache"
	"github.com/sheafdb/sheaf/internal/plan/node"
	"github.com/sheafdb/sheaf/internal/storage"
)

// announce tells the operation of ctx which plan it runs.
func announce(ctx context.Context, e *Execution) {
	e.Observe(ctx)
	if e.observer != nil {
		e.observer.Planned(e)
	}
}

// Observe makes the operation of ctx the observer of the plan's work. A cursor calls it for each
// batch, because each batch is an operation of its own. After Forget the plan has no observer.
func (e *Execution) Observe(ctx context.Context) {
	e.observer, _ = ctx.Value(storage.PlanKey{}).(storage.PlanObserver)
}

// Forget removes the observer: the plan's further work is not reported to any operation.
func (e *Execution) Forget() { e.observer = nil }

// tell reports to the observer the index keys and documents that the plan has read since the last
// report.
func (e *Execution) tell() {
	if e.observer == nil {
		return
	}
	keys, docs := e.Examined()
	w := storage.PlanWork{Keys: int64(keys - e.toldKeys), Docs: int64(docs - e.toldDocs), FromCache: e.cached}
	e.toldKeys, e.toldDocs = keys, docs
	w.Sorts, w.Spilled = sorted(e.root)
	e.observer.Worked(w)
}

// sorted reports whether a plan has a blocking sort, and whether the sort spilled to disk.
func sorted(n exec.Node) (sorts, spilled bool) {
	if _, ok := n.(*exec.Sort); ok {
		sorts, spilled = true, n.Stats().Spills > 0
	}
	for _, in := range n.Inputs() {
		s, d := sorted(in)
		sorts, spilled = sorts || s, spilled || d
	}
	return sorts, spilled
}

// Hashes returns the hash of the query's shape and the hash of its key in the plan cache, as
// explain prints them. Both are empty for a plan that needed no planning, such as a get by _id, and
// for a large query whose operation has ended. The query must still be valid.
func (e *Execution) Hashes(ctx context.Context) (shape, key string) {
	if e.cq == nil {
		return "", ""
	}
	short, err := e.cq.ShapeWithin(ctx)
	if err != nil {
		return "", ""
	}
	full := e.key
	if full == nil {
		full = node.AppendKey(slices.Clip(short), []*node.Solution{e.plan})
	}
	return cache.Hash(short), cache.Hash(full)
}
