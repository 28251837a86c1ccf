package candidate

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/index"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/plan/bounds"
	"github.com/sheafdb/sheaf/internal/plan/canonical"
	"github.com/sheafdb/sheaf/internal/plan/indexinfo"
	"github.com/sheafdb/sheaf/internal/plan/node"
)

// assigned is a predicate that bounds a field of an index.
type assigned struct {
	pred   *canonical.Predicate
	bounds *canonical.Bounds
	field  int
}

// assignment lists which predicates bound which fields of an index, ordered by field.
type assignment []assigned

// workspace holds the buffers in which the assignments of a query are built, one after another.
type workspace struct {
	leading, servable, chosen assignment
	room                      [3][canonical.UsualConjuncts]assigned
}

func (w *workspace) clear() {
	if w.chosen == nil {
		w.leading, w.servable, w.chosen = w.room[0][:], w.room[1][:], w.room[2][:]
	}
	w.leading, w.servable, w.chosen = w.leading[:0], w.servable[:0], w.chosen[:0]
}

// assignments calls use for each way to bound an index by a conjunction, until use returns false.
// If the first field is multikey, only one of several predicates may be able to bound it, so each
// of them is tried. An assignment is valid until use returns.
func (e *enumerator) assignments(x *indexinfo.Index, c *canonical.Conjunction, use func(assignment) bool) {
	w := &e.work
	w.clear()
	lead := x.Lead()
	w.leading = e.servable(w.leading, x, lead, c)
	for i, first := range w.leading {
		if e.cq.Stopped((i + 1) * interrupt.Step) {
			return
		}
		if alreadyTogether(w.leading[:i], first, x.Bits(lead)) {
			continue
		}
		w.chosen = append(w.chosen[:0], first)
		w.chosen = e.extend(w.chosen, x, w.leading)
		for f := lead + 1; f < len(x.Fields); f++ {
			w.servable = e.servable(w.servable[:0], x, f, c)
			w.chosen = e.extend(w.chosen, x, w.servable)
		}
		if w.chosen.isComplete(x) && !use(w.chosen) {
			return
		}
	}
}

// alreadyTogether reports whether an assignment that began with one of the earlier predicates
// already contains this predicate.
func alreadyTogether(earlier assignment, next assigned, bits uint64) bool {
	for _, e := range earlier {
		if canonical.Combine(e.pred, next.pred, bits) {
			return true
		}
	}
	return false
}

// servable appends the predicates that can bound a field, equalities first.
func (e *enumerator) servable(dst assignment, x *indexinfo.Index, field int, c *canonical.Conjunction) assignment {
	value := x.Wild != nil && field == x.Wild.At+1
	if x.Wild != nil && x.Wild.Generic && field >= x.Wild.At {
		return dst
	}
	for _, points := range [...]bool{true, false} {
		for _, p := range c.Predicates {
			if e.cq.Stopped(interrupt.Step) {
				return dst
			}
			if !canonical.IsBoundBy(x.Fields[field], p.Path) {
				continue
			}
			b := e.cq.BoundsOn(p, x, field)
			if e.cq.Stopped(len(b.Intervals) * interrupt.Step) {
				return dst
			}
			if value {
				if !canonical.Serves(x.Wild, p) {
					continue
				}
				b = p.WildcardBounds(b, x)
			}
			if b.Ok && b.Points == points {
				dst = append(dst, assigned{p, b, field})
			}
		}
	}
	return dst
}

// extend adds every predicate of one field that can be combined with all predicates chosen before.
func (e *enumerator) extend(a assignment, x *indexinfo.Index, from assignment) assignment {
	first := len(a) // predicates of one path and one $elemMatch are adjacent, and have the same answer
	fitted := false
	for i, next := range from {
		switch {
		case len(a) > 0 && next.pred == a[0].pred: // the predicate began the assignment
			fitted = false
			continue
		case i > 0 && len(a) > first && fitted && standsBeside(next.pred, from[i-1].pred):
			fitted = canonical.Combine(a[len(a)-1].pred, next.pred, x.Bits(next.field))
		default:
			fitted = a.fits(x, next)
			if e.cq.Stopped(len(a) * interrupt.Step) {
				return a
			}
		}
		if fitted {
			a = append(a, next)
		}
	}
	return a
}

// standsBeside reports whether two predicates have the same path and the same innermost $elemMatch,
// if any.
func standsBeside(p *canonical.Predicate, q *canonical.Predicate) bool {
	return p.Path == q.Path && len(p.Elems) == len(q.Elems) && (len(p.Elems) == 0 ||
		p.Elems[len(p.Elems)-1] == q.Elems[len(q.Elems)-1])
}

func (a assignment) fits(x *indexinfo.Index, next assigned) bool {
	for _, have := range a {
		if have.pred.Node == next.pred.Node ||
			!canonical.Combine(have.pred, next.pred, x.Bits(have.field)|x.Bits(next.field)) {
			return false
		}
	}
	return true
}

// isComplete reports whether the index has an entry for every matching document. A geo index has
// one if a geo predicate bounds it, and the form of a wildcard index for a path if a predicate
// bounds the value at the path. Other indexes that contain only some documents have one if a
// predicate implies that its field exists.
func (a assignment) isComplete(x *indexinfo.Index) bool {
	if x.IsGeo() {
		return a.hasGeo(x)
	}
	if x.Wild != nil && !x.Wild.Generic {
		return slices.ContainsFunc(a, func(have assigned) bool { return have.field == x.Wild.At+1 })
	}
	if !x.Sparse && x.Wild == nil {
		return true
	}
	for _, have := range a {
		if have.pred.ImpliesPresence() {
			return true
		}
	}
	return false
}

// usesOneOf reports whether a predicate of c bounds the index.
func (a assignment) usesOneOf(c *canonical.Conjunction) bool {
	for _, have := range a {
		for _, p := range c.Predicates {
			if p.Node == have.pred.Node {
				return true
			}
		}
	}
	return false
}

// access builds the index scan of an assignment and the residual of the conjunction.
func (e *enumerator) access(a assignment, x *indexinfo.Index, c *canonical.Conjunction) access {
	scan := node.NewScan(x)
	out := access{node: scan, scan: scan}
	for rest := a; len(rest) > 0; {
		field, n := rest[0].field, 1
		for n < len(rest) && rest[n].field == field {
			n++
		}
		bounds := &scan.Bounds[field]
		*bounds = bounds.Intersect(e.common(rest[:n]))
		out.score += fieldScore(*bounds, field)
		rest = rest[n:]
	}
	if x.Wild != nil {
		scan.BoundPaths()
	}
	var onEntry []filter.Node
	settled := a.settled()
	for i, n := range c.Conjuncts {
		t, ok := a.settles(n, settled)
		if ok && t == bounds.InexactFetch && e.cq.Purpose == canonical.Count && a.countsNulls(x, n) {
			t = bounds.Exact
		}
		switch {
		case !ok || t == bounds.InexactFetch || t == bounds.InexactCovered && scan.Dedup:
			if out.residual == nil {
				out.residual = make([]filter.Node, 0, len(c.Conjuncts)-i)
			}
			out.residual = append(out.residual, n)
		case t == bounds.InexactCovered:
			onEntry = append(onEntry, n)
			scan.Paths = appendPaths(scan.Paths, n)
		}
	}
	scan.Filter = canonical.AllOf(onEntry)
	if c.Branch {
		out.settled = a.exact()
	}
	return out
}

// serve marks the predicates of the assignment as Served: they bound an access.
func (a assignment) serve() {
	for _, have := range a {
		have.pred.Served = true
	}
}

// exact returns the conjuncts that the bounds check completely. Each is a single predicate.
func (a assignment) exact() []filter.Node {
	var out []filter.Node
	for _, have := range a {
		if have.bounds.Tight == bounds.Exact {
			out = append(out, have.pred.Conjunct)
		}
	}
	return out
}

// countsNulls reports whether a conjunct matches null and missing fields, and its matches are
// exactly the records whose entries have null. That is so if there is no array on the path. An
// entry does not distinguish null from a missing field, which does not matter to a count.
func (a assignment) countsNulls(x *indexinfo.Index, conjunct filter.Node) bool {
	if !asksForNull(conjunct) {
		return false
	}
	for _, have := range a {
		if have.pred.Conjunct == conjunct && (have.pred.Node != conjunct ||
			x.Fields[have.field].Kind != index.Ordered || x.Bits(have.field) != 0) {
			return false
		}
	}
	return x.Wild == nil && x.Kind == index.Ordered
}

// asksForNull reports whether a conjunct is an equality with null, or an $in of null and other
// values.
func asksForNull(conjunct filter.Node) bool {
	if n, ok := conjunct.(*filter.Compare); ok {
		return n.Op == filter.Eq && n.Value.Type == bsonx.TypeNull
	}
	n, ok := conjunct.(*filter.In)
	return ok && len(n.Regexes) == 0 && slices.ContainsFunc(n.Values,
		func(v bsonx.Value) bool { return v.Type == bsonx.TypeNull }) &&
		!slices.ContainsFunc(n.Values, isInexactPoint)
}

// isInexactPoint reports whether an index entry with the value, which is not null, may belong to a
// document that does not have the value.
func isInexactPoint(v bsonx.Value) bool {
	switch v.Type {
	case bsonx.TypeMinKey, bsonx.TypeMaxKey, bsonx.TypeArray, bsonx.TypeUndefined:
		return true
	default:
		return false
	}
}

// settled returns the tightness of the bounds for each conjunct. It returns nil for a short
// assignment, for which settles searches the assignment instead.
func (a assignment) settled() map[filter.Node]bounds.Tightness {
	if len(a) <= usualAssigned {
		return nil
	}
	settled := make(map[filter.Node]bounds.Tightness, len(a))
	for _, have := range a {
		settled[have.pred.Conjunct] = max(settled[have.pred.Conjunct], have.bounds.Tight)
	}
	return settled
}

// usualAssigned is the usual largest number of predicates that bound an index.
const usualAssigned = 8

// settles returns the tightness of the bounds of a conjunct. ok is false if no bounds belong to the
// conjunct.
func (a assignment) settles(conjunct filter.Node, settled map[filter.Node]bounds.Tightness,
) (t bounds.Tightness, ok bool) {
	if settled != nil {
		t, ok = settled[conjunct]
		return t, ok
	}
	for _, have := range a {
		if have.pred.Conjunct == conjunct {
			t, ok = max(t, have.bounds.Tight), true
		}
	}
	return t, ok
}

// common returns the values that are within all bounds of an assignment for one field. It
// intersects pairwise: intersecting one after another would copy the bounds of many negations again
// and again.
func (e *enumerator) common(a assignment) bounds.Intervals {
	if len(a) == 1 || e.cq.Stopped(len(a)*interrupt.Step) {
		return a[0].bounds.Intervals
	}
	half := len(a) / 2
	return e.common(a[:half]).Intersect(e.common(a[half:]))
}

// fieldScore rates the bounds of a field: points most, ranges less, and leading fields most.
func fieldScore(ivs bounds.Intervals, field int) int {
	weight := 64 >> min(field, 5)
	switch {
	case ivs.IsAll():
		return 0
	case ivs.IsPoint():
		return 4 * weight
	case ivs.IsPoints():
		return 3 * weight
	default:
		return 2 * weight
	}
}

// hasGeo reports whether a geo predicate bounds the index. Then every match has a geometry.
func (a assignment) hasGeo(x *indexinfo.Index) bool {
	for _, have := range a {
		if indexinfo.IsGeo(x.Fields[have.field]) {
			return true
		}
	}
	return false
}
