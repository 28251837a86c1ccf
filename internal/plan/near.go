package plan

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/geo"
	"github.com/sheafdb/sheaf/internal/index"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/plan/indexinfo"
)

// errNoNearIndex is the answer where no index can sort by distance.
func errNoNearIndex() error {
	return mongoerr.New(mongoerr.NoQueryExecutionPlans, "error processing query: planner returned error :: caused by :: "+
		"unable to find index for $geoNear query")
}

// nearField returns the field of an index that can sort by distance, or -1.
func (e *enumerator) nearField(x *indexinfo.Index) int {
	for f := range x.Fields {
		if x.Fields[f].Path != e.cq.near.Path {
			continue
		}
		switch x.Fields[f].Kind {
		case index.Sphere:
			if e.cq.near.Center.CRS != geo.Flat {
				return f
			}
		case index.Plane:
			if e.cq.near.Center.CRS == geo.Flat || !e.cq.near.Wraps {
				return f
			}
		default: // the others hold no cells
		}
	}
	return -1
}

// nearSolutions are the searches by distance, one for each index that can.
func (e *enumerator) nearSolutions(c *conjunction) []*solution {
	var out []*solution
	for _, x := range e.cq.indexes {
		f := e.nearField(x)
		if f < 0 || !e.cq.mayUse(x) || !e.cq.holds(x, c) {
			continue
		}
		asg, ok := e.beside(x, f, c)
		if !ok {
			continue
		}
		a := e.access(asg, x, c)
		n := &geoNear{near: e.cq.near, field: f, scan: a.scan, filter: allOf(a.residual)}
		if a.scan.filter != nil {
			n.filter = allOf(append(slices.Clip(a.residual), a.scan.filter))
			a.scan.filter, a.scan.paths = nil, nil
		}
		out = append(out, e.finisher().sorted(n, e.cq.sort))
	}
	return out
}

// beside chooses the predicates that bound the other fields of an index; false where the first field, which is another, has none.
func (e *enumerator) beside(x *indexinfo.Index, near int, c *conjunction) (assignment, bool) {
	var chosen assignment
	for f := range x.Fields {
		if f == near {
			continue
		}
		chosen = e.extend(chosen, x, e.servable(nil, x, f, c))
		if f == 0 && len(chosen) == 0 {
			return nil, false
		}
	}
	return chosen, true
}
