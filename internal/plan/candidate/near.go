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

// errNoNearIndex returns the error for a search by distance without a suitable index.
func errNoNearIndex() error {
	return mongoerr.New(mongoerr.NoQueryExecutionPlans,
		"error processing query: planner returned error :: caused by :: "+
			"unable to find index for $geoNear query")
}

// nearField returns the position of the index field that can serve the search by distance, or -1.
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
		default: // fields of other kinds hold no cells
		}
	}
	return -1
}

// nearSolutions returns the plans of a search by distance, one for each suitable index.
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

// beside returns the predicates that bound the fields of a geo index other than the geo field. It
// returns false if the index begins with another field and no predicate bounds it.
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
