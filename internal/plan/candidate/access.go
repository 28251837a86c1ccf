package candidate

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/plan/canonical"
	"github.com/sheafdb/sheaf/internal/plan/indexinfo"
	"github.com/sheafdb/sheaf/internal/plan/node"
)

// Max bounds how many candidates are made for a query (internalQueryPlannerMaxIndexedSolutions).
const Max = 64

// branchWork is the work of planning a branch of an $or without what stands beside it.
const branchWork = 16 * interrupt.Step

// access is a way to the records that match a conjunction: a tree whose rows hold every match.
type access struct {
	node node.Node
	// scan is node where that is a single index scan.
	scan *node.IndexScan
	// residual are the conjuncts that node does not settle.
	residual []filter.Node
	// settled lists, for a branch of an $or, the conjuncts that node settles: those of the branch
	// and those beside the $or.
	settled []filter.Node
	// score estimates how selective the access is, to choose among the branches of an $or.
	score int
}

// tree returns the access with its residual checked.
func (a *access) tree() node.Node {
	if len(a.residual) == 0 {
		return a.node
	}
	return &node.Fetch{In: a.node, Filter: canonical.AllOf(a.residual)}
}

// accesses appends the ways to a conjunction: one or more per index whose first field it bounds,
// and one per $or whose branches all have one. need, where not nil, must have bounded the index: it
// keeps a branch of an $or from being served by what stands outside of it.
func (e *enumerator) accesses(out []access, c, need *canonical.Conjunction) []access {
	own := c
	if need != nil {
		own = need
	}
	if out, done := e.textAccess(out, c, own); done {
		return out
	}
	for _, x := range e.cq.Indexes {
		if e.cq.Stopped(len(c.Predicates) * interrupt.Step) {
			return out
		}
		if !e.cq.MayUse(x) || !x.IsWildcard() && !c.Bounds(x.Fields[0]) || !e.cq.Holds(x, c) {
			continue
		}
		if x.IsWildcard() {
			out = e.wildcardAccesses(out, x, c, need)
		} else {
			out = e.indexAccesses(out, x, c, need)
		}
		if len(out) >= Max {
			return out
		}
	}
	for _, o := range c.Ors {
		if len(out) >= Max || e.cq.Stopped(len(c.Conjuncts)*interrupt.Step) {
			break
		}
		if c.Serves(o) {
			continue // one scan reads what a union of scans would
		}
		if a, ok := e.orAccess(o, c); ok {
			out = append(out, a)
		}
	}
	return out
}

// indexAccesses appends the ways to a conjunction through one index.
func (e *enumerator) indexAccesses(out []access, x *indexinfo.Index, c, need *canonical.Conjunction) []access {
	e.assignments(x, c, func(asg assignment) bool {
		if need == nil || asg.usesOneOf(need) {
			out = append(out, e.access(asg, x, c))
			asg.serve()
		}
		return len(out) < Max
	})
	return out
}

// orAccess is the union of accesses to all branches, if all have one. What stands beside the $or
// also bounds the branches.
func (e *enumerator) orAccess(o *filter.Or, c *canonical.Conjunction) (access, bool) {
	outer := canonical.Conjunction{Query: &e.cq}
	for _, n := range c.Conjuncts {
		if n != filter.Node(o) {
			outer.Add(n)
		}
	}
	union := &node.Or{In: make([]node.Node, 0, len(o.Children))}
	score := 0
	settledBy := map[filter.Node]int{} // how many branches, from the first one on, settle a conjunct
	for i, child := range o.Children {
		if e.cq.Stopped(branchWork + len(outer.Predicates)*interrupt.Step) {
			return access{}, false
		}
		branch := e.cq.ConjunctionOf(child)
		best, ok := e.bestAccess(branch, &outer)
		if !ok {
			return access{}, false
		}
		if i == 0 || best.score < score {
			score = best.score
		}
		for _, n := range best.settled {
			if settledBy[n] == i {
				settledBy[n]++
			}
		}
		union.In = append(union.In, best.tree())
	}
	residual := slices.DeleteFunc(outer.Conjuncts, func(n filter.Node) bool { return settledBy[n] == len(o.Children) })
	return access{node: union, residual: residual, score: score - 1}, true
}

// bestAccess chooses the access to a branch of an $or that bounds most; false if there is none.
func (e *enumerator) bestAccess(branch, outer *canonical.Conjunction) (best access, found bool) {
	combined := branch
	if len(outer.Predicates) > 0 {
		combined = branch.With(outer.Predicates)
	}
	for _, a := range e.accesses(nil, combined, branch) {
		if !found || a.score > best.score {
			best, found = a, true
		}
	}
	return best, found
}
