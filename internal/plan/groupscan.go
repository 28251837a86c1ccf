package plan

// groupScan returns a plan for a query of which one row for each value of a field is read (Query.OneOf), or nil: a
// DISTINCT_SCAN, where an index holds the rows of each value together and in the order asked for. It reads the first row
// of a value, or the last, and jumps over the others.
func (cq *canonical) groupScan(solutions []*solution) *solution {
	field := cq.q.OneOf
	if field == "" || cq.purpose != purposeFind || cq.natural != 0 || cq.hint.natural != 0 || cq.collated() || hasNumber(field) ||
		cq.q.Skip > 0 || cq.q.Limit > 0 || cq.q.ReturnKey || cq.q.ShowRecordID || cq.q.Tailable {
		return nil
	}
	for _, s := range solutions {
		if scan := cq.entryScan(s.root); scan != nil && scan.groups(field) {
			return cq.oneOfEach(scan)
		}
	}
	if cq.root != nil || len(cq.sort) > 0 {
		return nil
	}
	for _, x := range cq.indexes {
		if scan := x.scan(); cq.mayUse(x) && !x.isWildcard() && !x.isGeo() && !x.sparse && !x.isPartial && scan.groups(field) {
			return cq.oneOfEach(scan)
		}
	}
	return nil
}

// entryScan returns the scan of a plan that is nothing else but that of the index and what makes documents of its entries.
func (cq *canonical) entryScan(n node) *indexScan {
	if p, ok := n.(*project); ok && p.covered != nil {
		n = p.in
	}
	return soleScan(n)
}

// groups reports whether the documents that have the same value in a field are behind each other in a scan.
func (n *indexScan) groups(field string) bool {
	x := n.index
	return x.ix != nil && x.wild == nil && n.filter == nil && n.min == nil && n.max == nil && x.fields[0].Holds(field) && !x.isMultikey() && x.collation == nil
}

// oneOfEach makes a scan one of the first rows of each value, or of the last ones.
func (cq *canonical) oneOfEach(scan *indexScan) *solution {
	lean := *scan
	lean.backward = scan.backward != cq.q.LastOf
	distinct := &distinctScan{scan: &lean, fields: 1, feeds: true}
	if p := cq.q.Projection; p != nil {
		if paths, simple := p.Fields(); simple && len(paths) > 0 && coveredBy(scan.index, paths) {
			return newSolution(&project{in: distinct, p: p, spec: cq.q.projectionSpec(), covered: &lean})
		}
	}
	return newSolution(&fetch{in: distinct})
}
