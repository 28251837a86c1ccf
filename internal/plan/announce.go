package plan

import (
	"context"
	"slices"

	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/plan/cache"
	"github.com/sheafdb/sheaf/internal/plan/node"
	"github.com/sheafdb/sheaf/internal/storage"
)

// announce tells the operation which plan it runs.
func announce(ctx context.Context, e *Execution) {
	e.Observe(ctx)
	if e.observer != nil {
		e.observer.Planned(e)
	}
}

// Observe lets the operation of ctx know what the plan does from now on. A cursor asks for it at
// each batch, because each is an operation of its own; after Forget nobody is told.
func (e *Execution) Observe(ctx context.Context) {
	e.observer, _ = ctx.Value(storage.PlanKey{}).(storage.PlanObserver)
}

// Forget ends Observe.
func (e *Execution) Forget() { e.observer = nil }

// tell reports to the observer what the plan did since it was told last.
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

// sorted reports whether a plan sorts in memory, and whether that was too little of it.
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

// Hashes returns the hash of the query's shape and that of its key in the plan cache, as explain
// prints them: empty for a plan that needs no planning, as a get by _id. They are also empty for a
// large query whose operation has ended. The query must still be there.
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
