package candidate

import (
	"slices"
	"strings"

	"github.com/sheafdb/sheaf/internal/plan/bounds"
	"github.com/sheafdb/sheaf/internal/plan/canonical"
	"github.com/sheafdb/sheaf/internal/plan/indexinfo"
	"github.com/sheafdb/sheaf/internal/plan/node"
)

// sortableEntries returns the scan, or the union of scans, whose entries can be sorted before their
// records are read. Then only the records within the limit are read. It returns nil if there is no
// such scan.
func (fi finisher) sortableEntries(n node.Node, limit int64) node.Node {
	f, ok := n.(*node.Fetch)
	if !ok || limit == 0 || f.Filter != nil || fi.cq.Purpose != canonical.Find || fi.cq.Asked.ReturnKey ||
		fi.cq.Asked.ShowRecordID || fi.cq.Collated() {
		return nil
	}
	if fi.hasSort(f.In) {
		return f.In
	}
	if u, ok := f.In.(*node.Or); ok && !slices.ContainsFunc(u.In, func(n node.Node) bool { return !fi.hasSort(n) }) {
		return u
	}
	return nil // the documents must be sorted
}

// hasSort reports whether a node is an index scan whose entries contain all fields of the sort.
func (fi finisher) hasSort(n node.Node) bool {
	scan, ok := n.(*node.IndexScan)
	if !ok || scan.Index.Stored == nil || scan.Index.Wild != nil || scan.Dedup || scan.Index.Collation != nil {
		return false
	}
	for _, s := range fi.cq.Sort {
		if i := scan.Index.FieldOf(s.Path); i < 0 || scan.Index.Bits(i) != 0 {
			return false
		}
	}
	return true
}

// unionWithoutFetch completes a union or a merge of scans without reading further records. Some of
// the scans may have read their records. It returns nil if the plan needs other records.
func (fi finisher) unionWithoutFetch(n node.Node, scans []node.Node) *node.Solution {
	first := fi.entriesOf(scans)
	p := fi.cq.Asked.Projection
	switch {
	case first == nil:
		return nil
	case fi.cq.Purpose == canonical.Count:
		return fi.finish(n)
	case fi.cq.Purpose != canonical.Find || p == nil || fi.cq.Asked.ShowRecordID || fi.cq.Asked.ReturnKey ||
		haveRecords(scans):
		return nil
	}
	if fi.cq.Asked.Skip > 0 {
		n = &node.Skip{In: n, Count: fi.cq.Asked.Skip}
	}
	return fi.limited(&node.Project{
		In: n, Projection: p, Spec: fi.cq.Asked.ShownProjection(), Covered: first, Union: true,
	})
}

// entriesOf returns the first index scan of a union, if every row of the union has what the query
// needs: the record, or an entry that contains the projected fields. Otherwise it returns nil.
func (fi finisher) entriesOf(scans []node.Node) (first *node.IndexScan) {
	var paths []string
	if fi.cq.Purpose == canonical.Find {
		if fi.cq.Asked.Projection == nil {
			return nil
		}
		var ok bool
		if paths, ok = fi.cq.Asked.Projection.Reads(); !ok || len(paths) == 0 {
			return nil
		}
	}
	for _, in := range scans {
		scan, bare := in.(*node.IndexScan)
		if f, ok := in.(*node.Fetch); ok {
			scan, _ = f.In.(*node.IndexScan)
		}
		if scan == nil || scan.Index.Stored == nil || bare && fi.cq.Purpose == canonical.Find &&
			(!scan.HasOnePath() || !coveredBy(scan.Index, paths)) {
			return nil
		}
		if first == nil || bare {
			first = scan
		}
	}
	return first
}

// unionOf returns the inputs of a union or a merge. It returns false for other nodes.
func unionOf(n node.Node) (inputs []node.Node, isUnion bool) {
	if u, ok := n.(*node.Or); ok {
		return u.In, true
	}
	if m, ok := n.(*node.SortMerge); ok {
		return m.In, true
	}
	return nil, false
}

// hasRecords reports whether all rows of a node have their record, in each branch of a union.
func hasRecords(n node.Node) bool {
	if inputs, isUnion := unionOf(n); isUnion {
		return haveRecords(inputs)
	}
	_, isFetch := n.(*node.Fetch)
	_, isScan := n.(*node.CollScan)
	return isFetch || isScan
}

func haveRecords(in []node.Node) bool {
	return !slices.ContainsFunc(in, func(n node.Node) bool { return !hasRecords(n) })
}

// coversSorted returns the index scan whose entries contain all fields that a projection below a
// sort keeps, or nil.
func (fi finisher) coversSorted(n node.Node) *node.IndexScan {
	f, ok := n.(*node.Fetch)
	if !ok || f.Filter != nil {
		return nil
	}
	scan, ok := f.In.(*node.IndexScan)
	if !ok || !scan.HasOnePath() {
		return nil
	}
	paths, _ := fi.cq.Asked.Projection.Fields()
	if len(paths) == 0 || !coveredBy(scan.Index, paths) {
		return nil
	}
	return scan
}

// projectsSorted reports whether the projection can be applied below the sort, which then sorts
// less data. The projection must only select fields, and must select the fields of the sort.
func (fi finisher) projectsSorted() bool {
	p := fi.cq.Asked.Projection
	if fi.cq.Purpose != canonical.Find || p == nil || !p.IsSimple() || !p.IsInclusion() ||
		fi.cq.Asked.ReturnKey || fi.cq.Asked.ShowRecordID {
		return false
	}
	paths, _ := p.Fields()
	for _, f := range fi.cq.Sort {
		top, _, _ := strings.Cut(f.Path, ".")
		if !slices.Contains(paths, top) {
			return false
		}
	}
	return true
}

// coveredBy reports whether all paths are fields of the index that were never arrays.
func coveredBy(x *indexinfo.Index, paths []string) bool {
	if x.Collation != nil || x.JoinsValues() {
		// The entries do not hold the original values: a collation replaces strings, and a 2d index
		// combines several values into an array.
		return false
	}
	for _, p := range paths {
		f := x.FieldOf(p)
		if f < 0 || x.Bits(f) != 0 || strings.HasPrefix(p, "$") || bounds.HasNumber(p) {
			return false
		}
	}
	return true
}
