package plan

import (
	"github.com/sheafdb/sheaf/internal/filter"
)

// assignment says which predicates bound which fields of an index.
type assignment struct {
	index  *indexInfo
	fields [][]assigned
}

type assigned struct {
	pred   predicate
	bounds fieldBounds
}

// assignments enumerates the ways to bound an index by a conjunction. Where the first field is multikey only one of
// several predicates can bound it, and each of them is tried.
func (cq *canonical) assignments(x *indexInfo, c *conjunction) []*assignment {
	if x.collated {
		return nil
	}
	leading := cq.servable(x, 0, c)
	var out []*assignment
	for i, first := range leading {
		if alreadyTogether(leading[:i], first, x.bits(0)) {
			continue
		}
		a := &assignment{index: x, fields: make([][]assigned, len(x.fields))}
		a.fields[0] = []assigned{first}
		a.extend(0, leading)
		for f := 1; f < len(x.fields); f++ {
			a.extend(f, cq.servable(x, f, c))
		}
		if cq.complete(a) {
			out = append(out, a)
		}
	}
	return out
}

// alreadyTogether reports whether the assignment that one of the earlier predicates began holds this one too.
func alreadyTogether(earlier []assigned, next assigned, bits uint64) bool {
	for _, e := range earlier {
		if combine(e.pred, next.pred, bits) {
			return true
		}
	}
	return false
}

// servable returns the predicates that can bound a field, equalities first.
func (cq *canonical) servable(x *indexInfo, field int, c *conjunction) []assigned {
	path := x.fields[field].Path
	ctx := boundsContext{
		multikey: x.bits(field) != 0, dotted: isDotted(path), numeric: hasNumber(path), collated: cq.collated(),
	}
	var points, rest []assigned
	for _, p := range c.predicates {
		if p.path != path {
			continue
		}
		b, ok := boundsOf(p.node, ctx)
		if !ok {
			continue
		}
		if len(p.elems) > 0 || ctx.numeric && ctx.multikey {
			b.tight = inexactFetch
		}
		if b.ivs.isPoints() {
			points = append(points, assigned{p, b})
		} else {
			rest = append(rest, assigned{p, b})
		}
	}
	return append(points, rest...)
}

// extend adds to a field every predicate that can be combined with all that were chosen before.
func (a *assignment) extend(field int, from []assigned) {
	for _, next := range from {
		if a.fits(field, next) {
			a.fields[field] = append(a.fields[field], next)
		}
	}
}

func (a *assignment) fits(field int, next assigned) bool {
	for f, chosen := range a.fields {
		bits := a.index.bits(f) | a.index.bits(field)
		for _, have := range chosen {
			if have.pred.node == next.pred.node || !combine(have.pred, next.pred, bits) {
				return false
			}
		}
	}
	return true
}

// complete reports whether a sparse index has an entry of every match.
func (cq *canonical) complete(a *assignment) bool {
	if !a.index.sparse {
		return true
	}
	for _, chosen := range a.fields {
		for _, have := range chosen {
			if impliesPresence(have.pred.node) {
				return true
			}
		}
	}
	return false
}

// usesOneOf reports whether a predicate of c bounds the index.
func (a *assignment) usesOneOf(c *conjunction) bool {
	for _, chosen := range a.fields {
		for _, have := range chosen {
			for _, p := range c.predicates {
				if p.node == have.pred.node {
					return true
				}
			}
		}
	}
	return false
}

// access makes the index scan of an assignment, and the residual that it leaves of a conjunction.
func (a *assignment) access(c *conjunction) *access {
	scan := &indexScan{index: a.index, bounds: a.index.all(), dedup: a.index.isMultikey()}
	settled := map[filter.Node]tightness{}
	out := &access{node: scan, scan: scan}
	for f, chosen := range a.fields {
		for _, have := range chosen {
			scan.bounds[f] = scan.bounds[f].intersect(have.bounds.ivs)
			if n, seen := settled[have.pred.conjunct]; !seen || have.bounds.tight > n {
				settled[have.pred.conjunct] = have.bounds.tight
			}
		}
		out.score += fieldScore(scan.bounds[f], f, len(chosen))
	}
	var onEntry []filter.Node
	for _, n := range c.conjuncts {
		t, ok := settled[n]
		switch {
		case !ok || t == inexactFetch || t == inexactCovered && scan.dedup:
			out.residual = append(out.residual, n)
		case t == inexactCovered:
			onEntry = append(onEntry, n)
			scan.paths = append(scan.paths, pathOf(n))
		}
	}
	scan.filter = allOf(onEntry)
	return out
}

// pathOf returns the path of a predicate that bounds an index.
func pathOf(n filter.Node) string {
	switch n := n.(type) {
	case *filter.Not:
		return pathOf(n.Child)
	case filter.Leaf:
		return n.FieldPath().String()
	default:
		return ""
	}
}

// fieldScore weighs the bounds of a field: points most, ranges less, and leading fields most.
func fieldScore(ivs intervals, field, predicates int) int {
	weight := 64 >> min(field, 5)
	switch {
	case predicates == 0 || ivs.isAll():
		return 0
	case ivs.isPoint():
		return 4 * weight
	case ivs.isPoints():
		return 3 * weight
	default:
		return 2 * weight
	}
}

func isDotted(path string) bool {
	for i := range len(path) {
		if path[i] == '.' {
			return true
		}
	}
	return false
}
