package candidate

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/index"
	"github.com/sheafdb/sheaf/internal/plan/bounds"
	"github.com/sheafdb/sheaf/internal/plan/canonical"
	"github.com/sheafdb/sheaf/internal/plan/indexinfo"
	"github.com/sheafdb/sheaf/internal/plan/node"
)

// expressPlan returns the plan of a find for at most one document by equality on the first field of
// an index. No other plan can be better, so no other plan is tried. It returns nil for other
// queries.
func (e *enumerator) expressPlan() *node.Solution {
	c, ok := e.cq.Root.(*filter.Compare)
	if !ok || c.Op != filter.Eq || !isExpress(&e.cq) || !isExpressValue(c.Value) {
		return nil
	}
	var best *indexinfo.Index
	for _, x := range e.cq.Indexes {
		if x.Kind != index.Ordered || !x.Fields[0].Holds(c.Path) || x.IsPartial || x.Collation != nil ||
			x.Bits(0) != 0 && bounds.HasNumber(c.Path) {
			continue
		}
		if e.cq.Asked.Limit != 1 && !(x.Unique && len(x.Fields) == 1) {
			continue
		}
		if best == nil || len(x.Fields) < len(best.Fields) {
			best = x
		}
	}
	if best == nil {
		return nil
	}
	scan := node.NewScan(best)
	scan.Bounds[0] = bounds.Intervals{bounds.Point(c.Value)}
	inner := e.finisher().above(scan, nil, true)
	return node.NewSolution(&node.Express{Index: best, In: inner.Root})
}

// isExpress reports whether the query has only a filter, and perhaps a limit and a simple
// projection.
func isExpress(cq *canonical.Query) bool {
	q := cq.Asked
	return cq.Purpose == canonical.Find && len(cq.Sort) == 0 && cq.Natural == 0 && !cq.Hint.Provided && q.Skip == 0 &&
		!q.ReturnKey && !q.ShowRecordID && !cq.Collated() && (q.Projection == nil || q.Projection.IsSimple())
}

// isExpressValue reports whether an index alone decides the equality with a value.
func isExpressValue(v bsonx.Value) bool {
	switch v.Type {
	case bsonx.TypeNull, bsonx.TypeArray, bsonx.TypeRegex, bsonx.TypeMinKey, bsonx.TypeMaxKey:
		return false
	default:
		return true
	}
}
