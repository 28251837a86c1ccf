package candidate

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/index"
	"github.com/sheafdb/sheaf/internal/plan/bounds"
	"github.com/sheafdb/sheaf/internal/plan/canonical"
	"github.com/sheafdb/sheaf/internal/plan/indexinfo"
	"github.com/sheafdb/sheaf/internal/plan/node"
)

// onEntries moves to a scan of a whole index the conjuncts that can be checked on the index
// entries. It returns the other conjuncts.
func (e *enumerator) onEntries(scan *node.IndexScan, c *canonical.Conjunction) []filter.Node {
	x := scan.Index
	if x.Stored == nil || x.IsMultikey() || x.Wild != nil || x.Collation != nil {
		return c.Conjuncts
	}
	var onEntry, rest []filter.Node
	for _, n := range c.Conjuncts {
		if entryTells(&e.cq, x, c, n) {
			onEntry = append(onEntry, n)
			scan.Paths = appendPaths(scan.Paths, n)
			continue
		}
		rest = append(rest, n)
	}
	scan.Filter = canonical.AllOf(onEntry)
	return rest
}

// entryTells reports whether a conjunct can be checked on the entries of an index.
func entryTells(cq *canonical.Query, x *indexinfo.Index, c *canonical.Conjunction, conjunct filter.Node) bool {
	if o, ok := conjunct.(*filter.Or); ok {
		return entryTellsBranches(cq, x, o)
	}
	i := slices.IndexFunc(c.Predicates, func(p *canonical.Predicate) bool {
		return p.Node == conjunct &&
			!p.Expression && len(p.Elems) == 0
	})
	if i < 0 || cq.Stopped(len(c.Predicates)) {
		return false
	}
	p := c.Predicates[i]
	f := slices.IndexFunc(x.Fields, func(f index.Field) bool { return f.Kind == index.Ordered && f.Path == p.Path })
	if f < 0 {
		return false
	}
	b := cq.BoundsOn(p, x, f)
	return b.Ok && b.Tight != bounds.InexactFetch
}

// entryTellsBranches is entryTells for an $or.
func entryTellsBranches(cq *canonical.Query, x *indexinfo.Index, o *filter.Or) bool {
	for _, child := range o.Children {
		if cq.Stopped(branchWork) {
			return false
		}
		branch := cq.ConjunctionOf(child)
		if slices.ContainsFunc(branch.Conjuncts, func(n filter.Node) bool { return !entryTells(cq, x, branch, n) }) {
			return false
		}
	}
	return true
}

// appendPaths appends the paths of the predicates in a conjunct.
func appendPaths(dst []string, n filter.Node) []string {
	filter.WalkNodes(n, func(n filter.Node) bool {
		l, ok := n.(filter.Leaf)
		if ok {
			dst = append(dst, l.FieldPath().String())
		}
		return !ok
	})
	return dst
}
