package plan

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/filter"
)

// factor puts the conjuncts that all branches of a disjunction have beside it, where they bound an
// index better than the branches do: a scan of what they match then reads each document once.
func (e *enumerator) factor() {
	if len(e.cq.whole.ors) == 0 || e.cq.text != nil {
		return
	}
	root, replaced := replaceOrs(e.cq.whole.node(), func(o *filter.Or) filter.Node {
		if f := e.cq.filter.Factor(o); f != filter.Node(o) && !e.settlesBranches(o) {
			return f
		}
		return o
	})
	if e.cq.ended == nil {
		e.cq.ended = e.cq.running.Err()
	}
	if replaced {
		e.cq.whole = conjunction{cq: &e.cq}
		e.cq.whole.split(root)
	}
}

// settlesBranches reports whether indexes leave nothing to check of any branch of a disjunction.
func (e *enumerator) settlesBranches(o *filter.Or) bool {
	return !slices.ContainsFunc(o.Children, func(child filter.Node) bool {
		if e.cq.stopped(branchWork) {
			return true
		}
		best, ok := e.bestAccess(e.cq.conjunctionOf(child), &conjunction{})
		return !ok || len(best.residual) > 0
	})
}
