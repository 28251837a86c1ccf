package plan

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/index"
	"github.com/sheafdb/sheaf/internal/plan/bounds"
	"github.com/sheafdb/sheaf/internal/plan/indexinfo"
)

// expressPlan returns the plan of a find for at most one document by equality on a field that leads an index: no other
// plan can be better, so that none is tried. It returns nil for other queries.
func (cq *canonical) expressPlan() *solution {
	c, ok := cq.root.(*filter.Compare)
	if !ok || c.Op != filter.Eq || !cq.isExpress() || !isExpressValue(c.Value) {
		return nil
	}
	var best *indexinfo.Index
	for _, x := range cq.indexes {
		if x.Kind != index.Ordered || !x.Fields[0].Holds(c.Path) || x.IsPartial || x.Collation != nil || x.Bits(0) != 0 && hasNumber(c.Path) {
			continue
		}
		if cq.q.Limit != 1 && !(x.Unique && len(x.Fields) == 1) {
			continue
		}
		if best == nil || len(x.Fields) < len(best.Fields) {
			best = x
		}
	}
	if best == nil {
		return nil
	}
	scan := newScan(best)
	scan.bounds[0] = bounds.Intervals{bounds.Point(c.Value)}
	inner := cq.above(scan, nil, true)
	return newSolution(&express{best, inner.root})
}

// asExpress gives the plan for one _id the name that explain has for it.
func (cq *canonical) asExpress(s *solution) *solution {
	p := cq.q.Projection
	if cq.purpose != purposeFind || p != nil && !p.IsSimple() {
		return s
	}
	return newSolution(&express{indexinfo.OfID(cq.q.Coll), s.root})
}

// isExpress reports whether nothing but the filter and a simple projection is asked for.
func (cq *canonical) isExpress() bool {
	q := cq.q
	return cq.purpose == purposeFind && len(cq.sort) == 0 && cq.natural == 0 && !cq.hint.Provided && q.Skip == 0 &&
		!q.ReturnKey && !q.ShowRecordID && !cq.collated() && (q.Projection == nil || q.Projection.IsSimple())
}

// isExpressValue leaves out the values whose equality an index does not settle.
func isExpressValue(v bsonx.Value) bool {
	switch v.Type {
	case bsonx.TypeNull, bsonx.TypeArray, bsonx.TypeRegex, bsonx.TypeMinKey, bsonx.TypeMaxKey:
		return false
	default:
		return true
	}
}

// isRootedOr reports whether the whole filter is one $or, whose branches MongoDB plans one by one.
func (cq *canonical) isRootedOr() bool {
	_, ok := cq.root.(*filter.Or)
	return ok && !cq.hint.Provided && cq.natural == 0
}
