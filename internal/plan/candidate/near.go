package candidate

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/geo"
	"github.com/sheafdb/sheaf/internal/index"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/plan/canonical"
	"github.com/sheafdb/sheaf/internal/plan/indexinfo"
	"github.com/sheafdb/sheaf/internal/plan/node"
)

// errNoNearIndex is the answer where no index can sort by distance.
func errNoNearIndex() error {
	return mongoerr.New(mongoerr.NoQueryExecutionPlans,
		"error processing query: planner returned error :: caused by :: "+
			"unable to find index for $geoNear query")
}

// nearField returns the field of an index that can sort by distance, or -1.
func (e *enumerator) nearField(x *indexinfo.Index) int {
	for f := range x.Fields {
		if x.Fields[f].Path != e.cq.Near.Path {
			continue
		}
		switch x.Fields[f].Kind {
		case index.Sphere:
			if e.cq.Near.Center.CRS != geo.Flat {
				return f
			}
		case index.Plane:
			if e.cq.Near.Center.CRS == geo.Flat || !e.cq.Near.Wraps {
				return f
			}
		default: // the others hold no cells
		}
	}
	return -1
}

// nearSolutions are the searches by distance, one for each index that can.
func (e *enumerator) nearSolutions(c *canonical.Conjunction) []*node.Solution {
	var out []*node.Solution
	for _, x := range e.cq.Indexes {
		f := e.nearField(x)
		if f < 0 || !e.cq.MayUse(x) || !e.cq.Holds(x, c) {
			continue
		}
		asg, ok := e.beside(x, f, c)
		if !ok {
			continue
		}
		a := e.access(asg, x, c)
		n := &node.GeoNear{Near: e.cq.Near, Field: f, Scan: a.scan, Filter: canonical.AllOf(a.residual)}
		if a.scan.Filter != nil {
			n.Filter = canonical.AllOf(append(slices.Clip(a.residual), a.scan.Filter))
			a.scan.Filter, a.scan.Paths = nil, nil
		}
		out = append(out, e.finisher().sorted(n, e.cq.Sort))
	}
	return out
}

// beside chooses the predicates that bound the other fields of an index; false where the first
// field, which is another, has none.
func (e *enumerator) beside(x *indexinfo.Index, near int, c *canonical.Conjunction) (assignment, bool) {
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
