package plan

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/index"
	"github.com/sheafdb/sheaf/internal/plan/bounds"
	"github.com/sheafdb/sheaf/internal/plan/indexinfo"
)

// onEntries gives a scan of a whole index the conjuncts that its entries can tell, and returns the others.
func (e *enumerator) onEntries(scan *indexScan, c *conjunction) []filter.Node {
	x := scan.index
	if x.Stored == nil || x.IsMultikey() || x.Wild != nil || x.Collation != nil {
		return c.conjuncts
	}
	var onEntry, rest []filter.Node
	for _, n := range c.conjuncts {
		if e.entryTells(x, c, n) {
			onEntry = append(onEntry, n)
			scan.paths = appendPaths(scan.paths, n)
			continue
		}
		rest = append(rest, n)
	}
	scan.filter = allOf(onEntry)
	return rest
}

// entryTells reports whether an entry of an index tells if a conjunct is true of the record.
func (e *enumerator) entryTells(x *indexinfo.Index, c *conjunction, conjunct filter.Node) bool {
	if o, ok := conjunct.(*filter.Or); ok {
		return e.entryTellsBranches(x, o)
	}
	i := slices.IndexFunc(c.predicates, func(p *predicate) bool { return p.node == conjunct && !p.expression && len(p.elems) == 0 })
	if i < 0 || e.cq.stopped(len(c.predicates)) {
		return false
	}
	p := c.predicates[i]
	f := slices.IndexFunc(x.Fields, func(f index.Field) bool { return f.Kind == index.Ordered && f.Path == p.path })
	if f < 0 {
		return false
	}
	b := e.cq.boundsOn(p, x, f)
	return b.ok && b.Tight != bounds.InexactFetch
}

// entryTellsBranches is entryTells for a disjunction.
func (e *enumerator) entryTellsBranches(x *indexinfo.Index, o *filter.Or) bool {
	for _, child := range o.Children {
		if e.cq.stopped(branchWork) {
			return false
		}
		branch := e.cq.conjunctionOf(child)
		if slices.ContainsFunc(branch.conjuncts, func(n filter.Node) bool { return !e.entryTells(x, branch, n) }) {
			return false
		}
	}
	return true
}

// appendPaths appends the paths that the predicates in a conjunct are about.
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
