package plan

import "github.com/sheafdb/sheaf/internal/plan/bounds"

// groupScan returns a plan for a query of which one row for each value of a field is read (Query.OneOf), or nil: a
// DISTINCT_SCAN, where an index holds the rows of each value together and in the order asked for. It reads the first row
// of a value, or the last, and jumps over the others.
func (e *enumerator) groupScan(solutions []*solution) *solution {
	field := e.cq.q.OneOf
	if field == "" || e.cq.purpose != purposeFind || e.cq.natural != 0 || e.cq.hint.Natural != 0 || e.cq.collated() || bounds.HasNumber(field) ||
		e.cq.q.Skip > 0 || e.cq.q.Limit > 0 || e.cq.q.ReturnKey || e.cq.q.ShowRecordID || e.cq.q.Tailable {
		return nil
	}
	for _, s := range solutions {
		if scan := e.entryScan(s.root); scan != nil {
			if f := e.groupedBy(scan, field); f >= 0 {
				return e.oneOfEach(scan, f)
			}
		}
	}
	if e.cq.root != nil || len(e.cq.sort) > 0 {
		return nil
	}
	for _, x := range e.cq.indexes {
		if scan := newScan(x); e.cq.mayUse(x) && !x.IsWildcard() && !x.IsGeo() && !x.Sparse && !x.IsPartial && e.groupedBy(scan, field) == 0 {
			return e.oneOfEach(scan, 0)
		}
	}
	return nil
}

// entryScan returns the scan of a plan that is nothing else but that of the index and what makes documents of its entries.
func (e *enumerator) entryScan(n node) *indexScan {
	if p, ok := n.(*subplan); ok {
		n = p.in
	}
	if p, ok := n.(*project); ok && p.covered != nil {
		n = p.in
	}
	return soleScan(n)
}

// groupedBy returns the position of an index field such that the documents with the same value in
// it are behind each other in a scan, or -1. The fields before it have a single value within the
// bounds. In an index with arrays a document has several entries, of which the last one is not
// where a sort has the document.
func (e *enumerator) groupedBy(n *indexScan, field string) int {
	x := n.index
	if x.Stored == nil || x.Wild != nil || n.filter != nil || n.min != nil || n.max != nil || x.Collation != nil || x.IsMultikey() && len(e.cq.sort) > 0 {
		return -1
	}
	for f := range x.Fields {
		switch {
		case x.Fields[f].Holds(field):
			if x.Bits(f) != 0 {
				return -1
			}
			return f
		case !n.bounds[f].IsPoint():
			return -1
		}
	}
	return -1
}

// oneOfEach makes a scan one of the first rows of each value of an index field, or of the last
// ones.
func (e *enumerator) oneOfEach(scan *indexScan, field int) *solution {
	lean := *scan
	lean.backward = scan.backward != e.cq.q.LastOf
	distinct := &distinctScan{scan: &lean, fields: field + 1, feeds: true}
	if p := e.cq.q.Projection; p != nil {
		if paths, ok := p.Reads(); ok && len(paths) > 0 && coveredBy(scan.index, paths) {
			return newSolution(&project{in: distinct, p: p, spec: e.cq.q.ShownProjection(), covered: &lean})
		}
	}
	return newSolution(&fetch{in: distinct})
}
