package candidate

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/plan/canonical"
	"github.com/sheafdb/sheaf/internal/plan/indexinfo"
	"github.com/sheafdb/sheaf/internal/plan/node"
)

// Max limits the number of candidates for each conjunction of a query
// (internalQueryPlannerMaxIndexedSolutions).
const Max = 64

// branchWork is counted for the planning of each branch of an $or, so that planning notices the end
// of its operation; see package interrupt. The predicates beside the $or are counted separately.
const branchWork = 16 * interrupt.Step

// access is a way to find the records that match a conjunction: a tree that yields every match.
type access struct {
	node node.Node
	// scan is the node of the access, if this node is one index scan and nothing else. Otherwise
	// scan is nil.
	scan *node.IndexScan
	// residual are the conjuncts that remain to be checked on the rows of the node.
	residual []filter.Node
	// settled lists, for a branch of an $or, the conjuncts that the node checks completely. They
	// belong to the branch, or stand beside the $or.
	settled []filter.Node
	// score estimates how selective the access is. It serves to choose among accesses to a branch
	// of an $or.
	score int
}

// tree returns the access with a fetch that checks the residual, if there is any.
func (a *access) tree() node.Node {
	if len(a.residual) == 0 {
		return a.node
	}
	return &node.Fetch{In: a.node, Filter: canonical.AllOf(a.residual)}
}

// accesses appends the accesses to a conjunction: one or more for each index whose first field the
// conjunction bounds, and one for each $or whose branches all have an access. If need is not nil, a
// predicate of need must bound the index. This prevents that a branch of an $or is served only by
// predicates outside of the $or.
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
			continue // one scan already reads the records that a union of scans would read
		}
		if a, ok := e.orAccess(o, c); ok {
			out = append(out, a)
		}
	}
	return out
}

// indexAccesses appends the accesses to a conjunction through one index.
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

// orAccess returns the union of accesses to all branches of an $or. It returns false if a branch
// has no access. The predicates beside the $or also bound the scans of the branches.
func (e *enumerator) orAccess(o *filter.Or, c *canonical.Conjunction) (access, bool) {
	outer := canonical.Conjunction{Query: &e.cq}
	for _, n := range c.Conjuncts {
		if n != filter.Node(o) {
			outer.Add(n)
		}
	}
	union := &node.Or{In: make([]node.Node, 0, len(o.Children))}
	score := 0
	settledBy := map[filter.Node]int{} // for each conjunct, how many leading branches check it completely
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

// bestAccess returns the most selective access to a branch of an $or. It returns false if the
// branch has no access.
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
