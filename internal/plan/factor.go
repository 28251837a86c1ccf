package plan

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/filter"
)

// absorb splits the filter, without the branches of disjunctions that others include.
func (cq *canonical) absorb() {
	if cq.filter == nil || cq.filter.Text() != nil {
		cq.whole.split(cq.root)
		return
	}
	root, _ := replaceOrs(cq.root, cq.filter.Absorb)
	cq.whole.split(root)
}

// factor puts the conjuncts that all branches of a disjunction have beside it, where they bound an
// index better than the branches do: a scan of what they match then reads each document once.
func (cq *canonical) factor() {
	if len(cq.whole.ors) == 0 || cq.text != nil {
		return
	}
	root, replaced := replaceOrs(cq.whole.node(), func(o *filter.Or) filter.Node {
		if f := cq.filter.Factor(o); f != filter.Node(o) && !cq.settlesBranches(o) {
			return f
		}
		return o
	})
	if cq.ended == nil {
		cq.ended = cq.running.Err()
	}
	if replaced {
		cq.whole = conjunction{cq: cq}
		cq.whole.split(root)
	}
}

// settlesBranches reports whether indexes leave nothing to check of any branch of a disjunction.
func (cq *canonical) settlesBranches(o *filter.Or) bool {
	return !slices.ContainsFunc(o.Children, func(child filter.Node) bool {
		if cq.stopped(branchWork) {
			return true
		}
		best, ok := cq.bestAccess(cq.conjunctionOf(child), &conjunction{})
		return !ok || len(best.residual) > 0
	})
}

// replaceOrs returns a filter with other nodes in the place of the disjunctions among its
// conjuncts, and whether any is another.
func replaceOrs(n filter.Node, by func(*filter.Or) filter.Node) (out filter.Node, replaced bool) {
	switch n := n.(type) {
	case *filter.Or:
		out = by(n)
		return out, out != filter.Node(n)
	case *filter.And:
		children := n.Children
		for i, child := range n.Children {
			o, ok := child.(*filter.Or)
			if !ok {
				continue
			}
			if f := by(o); f != child {
				if !replaced {
					children, replaced = slices.Clone(children), true
				}
				children[i] = f
			}
		}
		if replaced {
			return &filter.And{Children: children}, true
		}
	default: // no conjunct is a disjunction
	}
	return n, false
}
