package node

import (
	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/plan/bounds"
	"github.com/sheafdb/sheaf/internal/plan/query"
	"github.com/sheafdb/sheaf/internal/table"
)

// Builder builds the operators of a plan. Nodes take it by value: a pointer passed through an
// interface would be allocated. The tree of operators has the shape of the plan, except that
// Express, which is only a name, has no operator.
type Builder struct {
	Env     *exec.Env
	Q       *query.Query
	Whole   *filter.Filter
	Records func() (int64, error)
	Shared  *bounds.Shared
}

// Build builds the operators of a plan. They measure their time if explain requests that.
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

// fetchAgain implements again for nodes that yield whole records.
func (b Builder) fetchAgain(in exec.Node) exec.Node {
	return exec.NewFetch(b.Env, b.Q.Coll, in, b.Env.Whole)
}

// predicate makes a predicate from a residual filter. Some nodes, such as $expr, need the filter
// that they were parsed in, with its clock and variables. For them it returns the whole filter: a
// document that matches the whole filter matches each part.
func (b Builder) predicate(n filter.Node) table.Predicate {
	if n == nil {
		return nil
	}
	stateful := false
	filter.WalkNodes(n, func(n filter.Node) bool {
		switch n.Kind() {
		case filter.KindExpr, filter.KindWhere, filter.KindSampleRate, filter.KindText, filter.KindJSONSchema:
			stateful = true
		default: // nodes of the other kinds do not need the whole filter
		}
		return !stateful
	})
	if stateful || n == b.Whole.Root {
		return b.Whole
	}
	return b.Whole.Part(n)
}
