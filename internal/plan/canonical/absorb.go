package canonical

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/filter"
)

// absorb splits the filter into its conjuncts. It first drops branches of disjunctions that are
// included in other branches.
func (cq *Query) absorb() {
	if cq.Filter == nil || cq.Filter.Text() != nil {
		cq.Whole.Split(cq.Root)
		return
	}
	root, _ := ReplaceOrs(cq.Root, cq.Filter.Absorb)
	cq.Whole.Split(root)
}

// ReplaceOrs returns a filter in which by has replaced the disjunctions among the conjuncts.
// replaced reports whether any of them changed.
func ReplaceOrs(n filter.Node, by func(*filter.Or) filter.Node) (out filter.Node, replaced bool) {
	if o, ok := n.(*filter.Or); ok {
		out = by(o)
		return out, out != n
	}
	and, ok := n.(*filter.And)
	if !ok {
		return n, false
	}
	children := and.Children
	for i, child := range and.Children {
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
	return n, false
}
