package plan

import (
	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/plan/bounds"
	"github.com/sheafdb/sheaf/internal/plan/query"
	"github.com/sheafdb/sheaf/internal/table"
)

// builder makes the operators of a plan. Nodes take it by value: through an interface a pointer would be an allocation. The tree that it makes has the shape of the plan, but for express, which is
// only a name.
type builder struct {
	env     *exec.Env
	q       *query.Query
	whole   *filter.Filter
	records func() (int64, error)
	shared  *bounds.Shared
}

func (b builder) build(n node) exec.Node {
	made := n.build(b)
	if b.q.Timed {
		if _, named := n.(*express); !named {
			return exec.Timed(made)
		}
	}
	return made
}

func (b builder) buildAll(in []node) []exec.Node {
	out := make([]exec.Node, len(in))
	for i, n := range in {
		out[i] = b.build(n)
	}
	return out
}

// reshape returns what shapes a row of a plan anew; nil where the rows are those of a sort.
func (b builder) reshape(root node) *exec.Again {
	if has[*sortNode](root) {
		return nil
	}
	return &exec.Again{
		Build: func(in exec.Node) exec.Node { return root.again(b, in) },
		Entry: has[*returnKey](root) || isCovered(root),
	}
}

// fetchAgain is again of the nodes that give the plan's records.
func (b builder) fetchAgain(in exec.Node) exec.Node {
	return exec.NewFetch(b.env, b.q.Coll, in, b.env.Whole)
}

// predicate makes a residual matchable. Nodes that need the filter that they were parsed in, with its clock and
// variables, are left to the whole filter: what matches the whole matches each part.
func (b builder) predicate(n filter.Node) table.Predicate {
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
	if stateful || n == b.whole.Root {
		return b.whole
	}
	return b.whole.Part(n)
}
