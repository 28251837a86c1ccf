package candidate

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/plan/canonical"
)

// factor moves conjuncts that all branches of an $or have in common out of the $or, unless indexes
// answer each branch without a residual filter. A scan by the common conjuncts reads each document
// once.
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

// settlesBranches reports whether each branch of an $or has an access without a residual.
func (e *enumerator) settlesBranches(o *filter.Or) bool {
	return !slices.ContainsFunc(o.Children, func(child filter.Node) bool {
		if e.cq.Stopped(branchWork) {
			return true
		}
		best, ok := e.bestAccess(e.cq.ConjunctionOf(child), &canonical.Conjunction{})
		return !ok || len(best.residual) > 0
	})
}
