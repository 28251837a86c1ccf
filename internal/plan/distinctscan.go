package plan

import "github.com/sheafdb/sheaf/internal/plan/bounds"

// distinctScan returns a plan that reads one entry per value, or nil. Where the field was ever an
// array only the whole index has all values of the matching documents. With a collation an index
// without one may have several entries for what is one value.
func (e *enumerator) distinctScan(solutions []*solution, field string) *solution {
	if e.cq.hint.Natural != 0 {
		return nil
	}
	for _, s := range solutions {
		scan := soleScan(s.root)
		if scan == nil || scan.index.Stored == nil || scan.filter != nil && len(solutions) > 1 || !scan.hasOnePath() {
			continue // another plan may read fewer entries than one whose entries are filtered
		}
		// An entry within bounds that leave nothing to check is of a match, and so is the value of a field that was no array.
		if f := scan.distinctField(field); f >= 0 {
			if s := e.distinctSolution(scan, f); s != nil {
				return s
			}
		}
	}
	if e.cq.root != nil || bounds.HasNumber(field) {
		return nil
	}
	for _, x := range e.cq.indexes {
		if !e.cq.mayUse(x) || x.Stored == nil || x.IsWildcard() || x.IsGeo() || !x.Fields[0].Holds(field) || x.IsPartial || !x.Collation.Same(e.cq.q.Collation) {
			continue
		}
		if x.Collation != nil && x.Bits(0) != 0 {
			continue // an entry does not tell which element of an array it is of
		}
		scan := newScan(x)
		scan.dedup = false
		return e.distinctSolution(scan, 0)
	}
	return nil
}

// distinctSolution returns a plan that reads one entry for each value of a field. An index with a
// collation does not hold strings: where there may be some, the documents are read, and only an
// index with the query's own collation has one entry for each. It returns nil for others.
func (e *enumerator) distinctSolution(scan *indexScan, field int) *solution {
	n := &distinctScan{scan: scan, fields: field + 1}
	switch x := scan.index; {
	case x.Collation == nil || !scan.bounds[field].MayHaveText():
		return newSolution(n)
	case x.Collation.Same(e.cq.q.Collation):
		n.feeds = true
		return newSolution(&fetch{in: n})
	default:
		return nil
	}
}

// soleScan returns the scan of a plan that is nothing else but the fetch of its records.
func soleScan(n node) *indexScan {
	if p, ok := n.(*subplan); ok {
		n = p.in
	}
	if f, ok := n.(*fetch); ok && f.filter == nil {
		n = f.in
	}
	scan, _ := n.(*indexScan)
	return scan
}
