package candidate

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/plan/canonical"
)

// factor puts the conjuncts that all branches of a disjunction have beside it, where they bound an
// index better than the branches do: a scan of what they match then reads each document once.
func (e *enumerator) factor() {
	if len(e.cq.Whole.Ors) == 0 || e.cq.Text != nil {
		return
	}
	root, replaced := canonical.ReplaceOrs(e.cq.Whole.Node(), func(o *filter.Or) filter.Node {
		if f := e.cq.Filter.Factor(o); f != filter.Node(o) && !e.settlesBranches(o) {
			return f
		}
		return o
	})
	if e.cq.Ended == nil {
		e.cq.Ended = e.cq.Running.Err()
	}
	if replaced {
		e.cq.Whole = canonical.Conjunction{Query: &e.cq}
		e.cq.Whole.Split(root)
	}
}

// settlesBranches reports whether indexes leave nothing to check of any branch of a disjunction.
func (e *enumerator) settlesBranches(o *filter.Or) bool {
	return !slices.ContainsFunc(o.Children, func(child filter.Node) bool {
		if e.cq.Stopped(branchWork) {
			return true
		}
		best, ok := e.bestAccess(e.cq.ConjunctionOf(child), &canonical.Conjunction{})
		return !ok || len(best.residual) > 0
	})
}
