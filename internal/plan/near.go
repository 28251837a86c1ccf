package plan

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/geo"
	"github.com/sheafdb/sheaf/internal/index"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/plan/indexinfo"
	"github.com/sheafdb/sheaf/internal/plan/query"
)

// takeNear takes the predicate out of the filter that sorts by distance, if there is one: it must be a conjunct of the whole
// filter.
func (cq *canonical) takeNear() error {
	if cq.root == nil || !query.HasNear(cq.root) {
		return nil
	}
	for _, n := range cq.whole.conjuncts {
		near, ok := n.(*filter.GeoNear)
		switch {
		case ok && cq.near != nil:
			return mongoerr.New(mongoerr.BadValue, "Too many geoNear expressions")
		case ok:
			cq.near = near
		case query.HasNear(n):
			return mongoerr.New(mongoerr.BadValue, "geo $near must be top-level expr")
		}
	}
	switch {
	case cq.natural != 0:
		return mongoerr.New(mongoerr.BadValue, "geoNear expression not allowed with $natural sort order")
	case cq.hint.Natural != 0:
		return mongoerr.New(mongoerr.BadValue, "geoNear expression not allowed with $natural hint")
	case cq.q.Tailable:
		return mongoerr.New(mongoerr.BadValue, "Tailable cursors and geo $near cannot be used together")
	}
	isNear := func(n filter.Node) bool { return n == filter.Node(cq.near) }
	cq.whole.conjuncts = slices.DeleteFunc(cq.whole.conjuncts, isNear)
	cq.whole.predicates = slices.DeleteFunc(cq.whole.predicates, func(p *predicate) bool { return isNear(p.node) })
	return nil
}

// errNoNearIndex is the answer where no index can sort by distance.
func errNoNearIndex() error {
	return mongoerr.New(mongoerr.NoQueryExecutionPlans, "error processing query: planner returned error :: caused by :: "+
		"unable to find index for $geoNear query")
}

// nearField returns the field of an index that can sort by distance, or -1.
func (cq *canonical) nearField(x *indexinfo.Index) int {
	for f := range x.Fields {
		if x.Fields[f].Path != cq.near.Path {
			continue
		}
		switch x.Fields[f].Kind {
		case index.Sphere:
			if cq.near.Center.CRS != geo.Flat {
				return f
			}
		case index.Plane:
			if cq.near.Center.CRS == geo.Flat || !cq.near.Wraps {
				return f
			}
		default: // the others hold no cells
		}
	}
	return -1
}

// nearSolutions are the searches by distance, one for each index that can.
func (cq *canonical) nearSolutions(c *conjunction) []*solution {
	var out []*solution
	for _, x := range cq.indexes {
		f := cq.nearField(x)
		if f < 0 || !cq.mayUse(x) || !cq.holds(x, c) {
			continue
		}
		asg, ok := cq.beside(x, f, c)
		if !ok {
			continue
		}
		a := cq.access(asg, x, c)
		n := &geoNear{near: cq.near, field: f, scan: a.scan, filter: allOf(a.residual)}
		if a.scan.filter != nil {
			n.filter = allOf(append(slices.Clip(a.residual), a.scan.filter))
			a.scan.filter, a.scan.paths = nil, nil
		}
		out = append(out, cq.sorted(n, cq.sort))
	}
	return out
}

// beside chooses the predicates that bound the other fields of an index; false where the first field, which is another, has none.
func (cq *canonical) beside(x *indexinfo.Index, near int, c *conjunction) (assignment, bool) {
	var chosen assignment
	for f := range x.Fields {
		if f == near {
			continue
		}
		chosen = cq.extend(chosen, x, cq.servable(nil, x, f, c))
		if f == 0 && len(chosen) == 0 {
			return nil, false
		}
	}
	return chosen, true
}
