package candidate

import (
	"github.com/sheafdb/sheaf/internal/plan/bounds"
	"github.com/sheafdb/sheaf/internal/plan/node"
)

// distinctScan returns a plan that reads one entry for each value, or nil. If the field was an
// array in some document, only a scan of the whole index yields all values of the matching
// documents. If the query has a collation, an index without one may have several entries for values
// that the collation considers equal.
func (e *enumerator) distinctScan(solutions []*node.Solution, field string) *node.Solution {
	if e.cq.Hint.Natural != 0 {
		return nil
	}
	for _, s := range solutions {
		scan := soleScan(s.Root)
		if scan == nil || scan.Index.Stored == nil || scan.Filter != nil && len(solutions) > 1 || !scan.HasOnePath() {
			continue // another plan may read fewer entries than a scan that filters them
		}
		// An entry within exact bounds belongs to a match. So does the value of a field that was
		// never an array.
		if f := scan.DistinctField(field); f >= 0 {
			if s := e.distinctSolution(scan, f); s != nil {
				return s
			}
		}
	}
	if e.cq.Root != nil || bounds.HasNumber(field) {
		return nil
	}
	for _, x := range e.cq.Indexes {
		if !e.cq.MayUse(x) || x.Stored == nil || x.IsWildcard() || x.IsGeo() || !x.Fields[0].Holds(field) ||
			x.IsPartial || !x.Collation.Same(e.cq.Asked.Collation) {
			continue
		}
		if x.Collation != nil && x.Bits(0) != 0 {
			continue // an entry does not tell which array element it belongs to
		}
		scan := node.NewScan(x)
		scan.Dedup = false
		return e.distinctSolution(scan, 0)
	}
	return nil
}

// distinctSolution returns a plan that reads one entry for each value of a field. An index with a
// collation does not hold strings. If the values may contain strings, the plan reads the documents;
// this requires an index with the query's collation, which has one entry for each value. Otherwise
// distinctSolution returns nil.
func (e *enumerator) distinctSolution(scan *node.IndexScan, field int) *node.Solution {
	n := &node.DistinctScan{Scan: scan, Fields: field + 1}
	switch x := scan.Index; {
	case x.Collation == nil || !scan.Bounds[field].MayHaveText():
		return node.NewSolution(n)
	case x.Collation.Same(e.cq.Asked.Collation):
		n.Feeds = true
		return node.NewSolution(&node.Fetch{In: n})
	default:
		return nil
	}
}

// soleScan returns the index scan of a plan that consists only of the scan, or of the scan and a
// fetch. It returns nil for other plans.
func soleScan(n node.Node) *node.IndexScan {
	if p, ok := n.(*node.Subplan); ok {
		n = p.In
	}
	if f, ok := n.(*node.Fetch); ok && f.Filter == nil {
		n = f.In
	}
	scan, _ := n.(*node.IndexScan)
	return scan
}
