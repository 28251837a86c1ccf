package plan

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/plan/indexinfo"
)

// maxCandidates bounds how many candidates are made for a query (internalQueryPlannerMaxIndexedSolutions).
const maxCandidates = 64

// branchWork is the work of planning a branch of an $or without what stands beside it.
const branchWork = 16 * interrupt.Step

// access is a way to the records that match a conjunction: a tree whose rows hold every match.
type access struct {
	node node
	// scan is node where that is a single index scan.
	scan *indexScan
	// residual are the conjuncts that node does not settle.
	residual []filter.Node
	// settled lists, for a branch of an $or, the conjuncts that node settles: those of the branch
	// and those beside the $or.
	settled []filter.Node
	// score estimates how selective the access is, to choose among the branches of an $or.
	score int
}

// tree returns the access with its residual checked.
func (a *access) tree() node {
	if len(a.residual) == 0 {
		return a.node
	}
	return &fetch{in: a.node, filter: allOf(a.residual)}
}

// accesses appends the ways to a conjunction: one or more per index whose first field it bounds, and one per $or
// whose branches all have one. need, where not nil, must have bounded the index: it keeps a branch of an $or from
// being served by what stands outside of it.
func (cq *canonical) accesses(out []access, c, need *conjunction) []access {
	own := c
	if need != nil {
		own = need
	}
	if out, done := cq.textAccess(out, c, own); done {
		return out
	}
	for _, x := range cq.indexes {
		if cq.stopped(len(c.predicates) * interrupt.Step) {
			return out
		}
		if !cq.mayUse(x) || !x.IsWildcard() && !c.bounds(x.Fields[0]) || !cq.holds(x, c) {
			continue
		}
		if x.IsWildcard() {
			out = cq.wildcardAccesses(out, x, c, need)
		} else {
			out = cq.indexAccesses(out, x, c, need)
		}
		if len(out) >= maxCandidates {
			return out
		}
	}
	for _, o := range c.ors {
		if len(out) >= maxCandidates || cq.stopped(len(c.conjuncts)*interrupt.Step) {
			break
		}
		if c.serves(o) {
			continue // one scan reads what a union of scans would
		}
		if a, ok := cq.orAccess(o, c); ok {
			out = append(out, a)
		}
	}
	return out
}

// indexAccesses appends the ways to a conjunction through one index.
func (cq *canonical) indexAccesses(out []access, x *indexinfo.Index, c, need *conjunction) []access {
	cq.assignments(x, c, func(asg assignment) bool {
		if need == nil || asg.usesOneOf(need) {
			out = append(out, cq.access(asg, x, c))
			asg.serve()
		}
		return len(out) < maxCandidates
	})
	return out
}

// mayUse reports whether a hint, if there is one, is of that index.
func (cq *canonical) mayUse(x *indexinfo.Index) bool {
	return cq.hint.Index == nil || cq.hint.Index == x
}

// holds reports whether an index has an entry of every document that the conjunction matches, as far as its partial
// filter is concerned. A hint overrides it, and then the result may be incomplete, as in MongoDB.
func (cq *canonical) holds(x *indexinfo.Index, c *conjunction) bool {
	if !x.IsPartial || cq.hint.Index == x {
		return true
	}
	n := c.node()
	return x.Partial != nil && n != nil && filter.SubsetOf(n, x.Partial)
}

// orAccess is the union of accesses to all branches, if all have one. What stands beside the $or also bounds the branches.
func (cq *canonical) orAccess(o *filter.Or, c *conjunction) (access, bool) {
	outer := conjunction{cq: cq}
	for _, n := range c.conjuncts {
		if n != filter.Node(o) {
			outer.add(n)
		}
	}
	union := &or{in: make([]node, 0, len(o.Children))}
	score := 0
	settledBy := map[filter.Node]int{} // how many branches, from the first one on, settle a conjunct
	for i, child := range o.Children {
		if cq.stopped(branchWork + len(outer.predicates)*interrupt.Step) {
			return access{}, false
		}
		branch := cq.conjunctionOf(child)
		best, ok := cq.bestAccess(branch, &outer)
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
		union.in = append(union.in, best.tree())
	}
	residual := slices.DeleteFunc(outer.conjuncts, func(n filter.Node) bool { return settledBy[n] == len(o.Children) })
	return access{node: union, residual: residual, score: score - 1}, true
}

// bestAccess chooses the access to a branch of an $or that bounds most; false where there is none.
func (cq *canonical) bestAccess(branch, outer *conjunction) (best access, found bool) {
	combined := branch
	if len(outer.predicates) > 0 {
		combined = branch.with(outer.predicates)
	}
	for _, a := range cq.accesses(nil, combined, branch) {
		if !found || a.score > best.score {
			best, found = a, true
		}
	}
	return best, found
}
