package plan

import (
	"slices"
	"strings"

	"github.com/sheafdb/sheaf/internal/index"
	"github.com/sheafdb/sheaf/internal/plan/bounds"
	"github.com/sheafdb/sheaf/internal/plan/indexinfo"
)

// sortableEntries returns the scan, or the union of scans, whose entries can be sorted before their
// records are read. Only the records within the limit are then read. It returns nil if there is no
// such scan.
func (fi finisher) sortableEntries(n node, limit int64) node {
	f, ok := n.(*fetch)
	if !ok || limit == 0 || f.filter != nil || fi.cq.purpose != purposeFind || fi.cq.q.ReturnKey || fi.cq.q.ShowRecordID || fi.cq.collated() {
		return nil
	}
	if fi.hasSort(f.in) {
		return f.in
	}
	if u, ok := f.in.(*or); ok && !slices.ContainsFunc(u.in, func(n node) bool { return !fi.hasSort(n) }) {
		return u
	}
	return nil // documents
}

// hasSort reports whether a node is a scan whose entries have all fields of the sort.
func (fi finisher) hasSort(n node) bool {
	scan, ok := n.(*indexScan)
	if !ok || scan.index.Stored == nil || scan.index.Wild != nil || scan.dedup || scan.index.Collation != nil {
		return false
	}
	for _, s := range fi.cq.sort {
		if i := scan.index.FieldOf(s.path); i < 0 || scan.index.Bits(i) != 0 {
			return false
		}
	}
	return true
}

// unionWithoutFetch completes a union or a merge of scans without reading further records. Some of
// the scans may have read theirs. It returns nil if it needs other records.
func (fi finisher) unionWithoutFetch(n node, scans []node) *solution {
	first := fi.entriesOf(scans)
	p := fi.cq.q.Projection
	switch {
	case first == nil:
		return nil
	case fi.cq.purpose == purposeCount:
		return fi.finish(n)
	case fi.cq.purpose != purposeFind || p == nil || fi.cq.q.ShowRecordID || fi.cq.q.ReturnKey || haveRecords(scans):
		return nil
	}
	if fi.cq.q.Skip > 0 {
		n = &skip{n, fi.cq.q.Skip}
	}
	return fi.limited(&project{in: n, p: p, spec: fi.cq.q.ShownProjection(), covered: first, union: true})
}

// entriesOf returns the first scan of a union of which every row has what is asked for: the record, or an entry that has the
// fields. It returns nil where a row might have neither.
func (fi finisher) entriesOf(scans []node) (first *indexScan) {
	var paths []string
	if fi.cq.purpose == purposeFind {
		if fi.cq.q.Projection == nil {
			return nil
		}
		var ok bool
		if paths, ok = fi.cq.q.Projection.Reads(); !ok || len(paths) == 0 {
			return nil
		}
	}
	for _, in := range scans {
		scan, bare := in.(*indexScan)
		if f, ok := in.(*fetch); ok {
			scan, _ = f.in.(*indexScan)
		}
		if scan == nil || scan.index.Stored == nil || bare && fi.cq.purpose == purposeFind && (!scan.hasOnePath() || !coveredBy(scan.index, paths)) {
			return nil
		}
		if first == nil || bare {
			first = scan
		}
	}
	return first
}

// unionOf returns the inputs of a union or a merge; false for other nodes.
func unionOf(n node) (inputs []node, isUnion bool) {
	if u, ok := n.(*or); ok {
		return u.in, true
	}
	if m, ok := n.(*sortMerge); ok {
		return m.in, true
	}
	return nil, false
}

// hasRecords reports whether each branch of a union reads its records.
func hasRecords(n node) bool {
	if inputs, isUnion := unionOf(n); isUnion {
		return haveRecords(inputs)
	}
	_, isFetch := n.(*fetch)
	_, isScan := n.(*collScan)
	return isFetch || isScan
}

func haveRecords(in []node) bool {
	return !slices.ContainsFunc(in, func(n node) bool { return !hasRecords(n) })
}

// coversSorted returns the scan whose entries have all that a projection before a sort keeps, or nil.
func (fi finisher) coversSorted(n node) *indexScan {
	f, ok := n.(*fetch)
	if !ok || f.filter != nil {
		return nil
	}
	scan, ok := f.in.(*indexScan)
	if !ok || !scan.hasOnePath() {
		return nil
	}
	paths, _ := fi.cq.q.Projection.Fields()
	if len(paths) == 0 || !coveredBy(scan.index, paths) {
		return nil
	}
	return scan
}

// projectsSorted reports whether the projection can be done before the sort, so that less is sorted: it only picks
// fields, and the sort's are among them.
func (fi finisher) projectsSorted() bool {
	p := fi.cq.q.Projection
	if fi.cq.purpose != purposeFind || p == nil || !p.IsSimple() || !p.IsInclusion() || fi.cq.q.ReturnKey || fi.cq.q.ShowRecordID {
		return false
	}
	paths, _ := p.Fields()
	for _, f := range fi.cq.sort {
		top, _, _ := strings.Cut(f.path, ".")
		if !slices.Contains(paths, top) {
			return false
		}
	}
	return true
}

// coveredBy reports whether all paths are fields of the index that were never arrays.
func coveredBy(x *indexinfo.Index, paths []string) bool {
	if x.Collation != nil || x.Kind == index.Plane {
		return false // the keys do not give strings back, or values of arrays
	}
	for _, p := range paths {
		f := x.FieldOf(p)
		if f < 0 || x.Bits(f) != 0 || strings.HasPrefix(p, "$") || bounds.HasNumber(p) {
			return false
		}
	}
	return true
}
