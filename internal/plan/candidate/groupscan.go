package candidate

import (
	"github.com/sheafdb/sheaf/internal/plan/bounds"
	"github.com/sheafdb/sheaf/internal/plan/canonical"
	"github.com/sheafdb/sheaf/internal/plan/node"
)

// groupScan returns a DISTINCT_SCAN for a query whose caller reads only one row for each value of a
// field (Query.OneOf), or nil. It needs an index that holds the rows of each value together, in the
// order of the sort. The scan reads the first or the last row of a value and skips the others.
func (e *enumerator) groupScan(solutions []*node.Solution) *node.Solution {
	field := e.cq.Asked.OneOf
	if field == "" || e.cq.Purpose != canonical.Find || e.cq.Natural != 0 || e.cq.Hint.Natural != 0 ||
		e.cq.Collated() || bounds.HasNumber(field) ||
		e.cq.Asked.Skip > 0 || e.cq.Asked.Limit > 0 || e.cq.Asked.ReturnKey || e.cq.Asked.ShowRecordID ||
		e.cq.Asked.Tailable {
		return nil
	}
	for _, s := range solutions {
		if scan := e.entryScan(s.Root); scan != nil {
			if f := e.groupedBy(scan, field); f >= 0 {
				return e.oneOfEach(scan, f)
			}
		}
	}
	if e.cq.Root != nil || len(e.cq.Sort) > 0 {
		return nil
	}
	for _, x := range e.cq.Indexes {
		if scan := node.NewScan(x); e.cq.MayUse(x) && !x.IsWildcard() && !x.IsGeo() && !x.Sparse && !x.IsPartial &&
			e.groupedBy(scan, field) == 0 {
			return e.oneOfEach(scan, 0)
		}
	}
	return nil
}

// entryScan returns the index scan of a plan that consists only of the scan and of operators that
// turn its entries into documents. It returns nil for other plans.
func (e *enumerator) entryScan(n node.Node) *node.IndexScan {
	if p, ok := n.(*node.Subplan); ok {
		n = p.In
	}
	if p, ok := n.(*node.Project); ok && p.Covered != nil {
		n = p.In
	}
	return soleScan(n)
}

// groupedBy returns the position of an index field by whose values the scan yields the documents in
// groups, or -1. The fields before it must have a single value within the bounds. In a multikey
// index, a document has several entries, and the last of them is not at the document's place in the
// sort.
func (e *enumerator) groupedBy(n *node.IndexScan, field string) int {
	x := n.Index
	if x.Stored == nil || x.Wild != nil || n.Filter != nil || n.Min != nil || n.Max != nil ||
		x.Collation != nil || x.IsMultikey() && len(e.cq.Sort) > 0 {
		return -1
	}
	for f := range x.Fields {
		switch {
		case x.Fields[f].Holds(field):
			if x.Bits(f) != 0 {
				return -1
			}
			return f
		case !n.Bounds[f].IsPoint():
			return -1
		}
	}
	return -1
}

// oneOfEach returns a plan that reads only the first row of each value of an index field, or the
// last row.
func (e *enumerator) oneOfEach(scan *node.IndexScan, field int) *node.Solution {
	lean := *scan
	lean.Backward = scan.Backward != e.cq.Asked.LastOf
	distinct := &node.DistinctScan{Scan: &lean, Fields: field + 1, Feeds: true}
	if p := e.cq.Asked.Projection; p != nil {
		if paths, ok := p.Reads(); ok && len(paths) > 0 && coveredBy(scan.Index, paths) {
			return node.NewSolution(&node.Project{
				In: distinct, Projection: p, Spec: e.cq.Asked.ShownProjection(), Covered: &lean,
			})
		}
	}
	return node.NewSolution(&node.Fetch{In: distinct})
}
