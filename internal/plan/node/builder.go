package node

import (
	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/plan/bounds"
	"github.com/sheafdb/sheaf/internal/plan/query"
	"github.com/sheafdb/sheaf/internal/table"
)

// Builder makes the operators of a plan. Nodes take it by value: through an interface a pointer
// would be an allocation. The tree that it makes has the shape of the plan, but for express, which
// is only a name.
type Builder struct {
	Env     *exec.Env
	Q       *query.Query
	Whole   *filter.Filter
	Records func() (int64, error)
	Shared  *bounds.Shared
}

// Build makes the operators of a plan. They measure their time where explain asks for it.
func (b Builder) Build(n Node) exec.Node {
	made := n.build(b)
	if b.Q.Timed {
		if _, named := n.(*Express); !named {
			return exec.Timed(made)
		}
	}
	return made
}

func (b Builder) buildAll(in []Node) []exec.Node {
	out := make([]exec.Node, len(in))
	for i, n := range in {
		out[i] = b.Build(n)
	}
	return out
}

// fetchAgain is again of the nodes that give the plan's records.
func (b Builder) fetchAgain(in exec.Node) exec.Node {
	return exec.NewFetch(b.Env, b.Q.Coll, in, b.Env.Whole)
}

// predicate makes a residual matchable. Nodes that need the filter that they were parsed in, with
// its clock and variables, are left to the whole filter: what matches the whole matches each part.
func (b Builder) predicate(n filter.Node) table.Predicate {
	if n == nil {
		return nil
	}
	stateful := false
	filter.WalkNodes(n, func(n filter.Node) bool {
		switch n.Kind() {
		case filter.KindExpr, filter.KindWhere, filter.KindSampleRate, filter.KindText, filter.KindJSONSchema:
			stateful = true
		default: // the others need nothing here
		}
		return !stateful
	})
	if stateful || n == b.Whole.Root {
		return b.Whole
	}
	return b.Whole.Part(n)
}
