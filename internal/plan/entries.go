package plan

import (
	"slices"
	"strings"

	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/index"
	"github.com/sheafdb/sheaf/internal/plan/bounds"
	"github.com/sheafdb/sheaf/internal/plan/indexinfo"
)

// onEntries gives a scan of a whole index the conjuncts that its entries can tell, and returns the others.
func (cq *canonical) onEntries(scan *indexScan, c *conjunction) []filter.Node {
	x := scan.index
	if x.Stored == nil || x.IsMultikey() || x.Wild != nil || x.Collation != nil {
		return c.conjuncts
	}
	var onEntry, rest []filter.Node
	for _, n := range c.conjuncts {
		if cq.entryTells(x, c, n) {
			onEntry = append(onEntry, n)
			scan.paths = appendPaths(scan.paths, n)
			continue
		}
		rest = append(rest, n)
	}
	scan.filter = allOf(onEntry)
	return rest
}

// entryTells reports whether an entry of an index tells if a conjunct is true of the record.
func (cq *canonical) entryTells(x *indexinfo.Index, c *conjunction, conjunct filter.Node) bool {
	if o, ok := conjunct.(*filter.Or); ok {
		return cq.entryTellsBranches(x, o)
	}
	i := slices.IndexFunc(c.predicates, func(p *predicate) bool { return p.node == conjunct && !p.expression && len(p.elems) == 0 })
	if i < 0 || cq.stopped(len(c.predicates)) {
		return false
	}
	p := c.predicates[i]
	f := slices.IndexFunc(x.Fields, func(f index.Field) bool { return f.Kind == index.Ordered && f.Path == p.path })
	if f < 0 {
		return false
	}
	b := cq.boundsOn(p, x, f)
	return b.ok && b.Tight != bounds.InexactFetch
}

// entryTellsBranches is entryTells for a disjunction.
func (cq *canonical) entryTellsBranches(x *indexinfo.Index, o *filter.Or) bool {
	for _, child := range o.Children {
		if cq.stopped(branchWork) {
			return false
		}
		branch := cq.conjunctionOf(child)
		if slices.ContainsFunc(branch.conjuncts, func(n filter.Node) bool { return !cq.entryTells(x, branch, n) }) {
			return false
		}
	}
	return true
}

// appendPaths appends the paths that the predicates in a conjunct are about.
func appendPaths(dst []string, n filter.Node) []string {
	filter.WalkNodes(n, func(n filter.Node) bool {
		l, ok := n.(filter.Leaf)
		if ok {
			dst = append(dst, l.FieldPath().String())
		}
		return !ok
	})
	return dst
}

// sortableEntries returns the scan, or the union of scans, whose entries can be sorted before their
// records are read. Only the records within the limit are then read. It returns nil if there is no
// such scan.
func (cq *canonical) sortableEntries(n node, limit int64) node {
	f, ok := n.(*fetch)
	if !ok || limit == 0 || f.filter != nil || cq.purpose != purposeFind || cq.q.ReturnKey || cq.q.ShowRecordID || cq.collated() {
		return nil
	}
	switch in := f.in.(type) {
	case *indexScan:
		if cq.hasSort(in) {
			return in
		}
	case *or:
		if !slices.ContainsFunc(in.in, func(n node) bool { return !cq.hasSort(n) }) {
			return in
		}
	default: // documents
	}
	return nil
}

// hasSort reports whether a node is a scan whose entries have all fields of the sort.
func (cq *canonical) hasSort(n node) bool {
	scan, ok := n.(*indexScan)
	if !ok || scan.index.Stored == nil || scan.index.Wild != nil || scan.dedup || scan.index.Collation != nil {
		return false
	}
	for _, s := range cq.sort {
		if i := scan.index.FieldOf(s.path); i < 0 || scan.index.Bits(i) != 0 {
			return false
		}
	}
	return true
}

// unionWithoutFetch completes a union or a merge of scans without reading further records. Some of
// the scans may have read theirs. It returns nil if it needs other records.
func (cq *canonical) unionWithoutFetch(n node, scans []node) *solution {
	first := cq.entriesOf(scans)
	p := cq.q.Projection
	switch {
	case first == nil:
		return nil
	case cq.purpose == purposeCount:
		return cq.finish(n)
	case cq.purpose != purposeFind || p == nil || cq.q.ShowRecordID || cq.q.ReturnKey || haveRecords(scans):
		return nil
	}
	if cq.q.Skip > 0 {
		n = &skip{n, cq.q.Skip}
	}
	return cq.limited(&project{in: n, p: p, spec: cq.q.ShownProjection(), covered: first, union: true})
}

// entriesOf returns the first scan of a union of which every row has what is asked for: the record, or an entry that has the
// fields. It returns nil where a row might have neither.
func (cq *canonical) entriesOf(scans []node) (first *indexScan) {
	var paths []string
	if cq.purpose == purposeFind {
		if cq.q.Projection == nil {
			return nil
		}
		var ok bool
		if paths, ok = cq.q.Projection.Reads(); !ok || len(paths) == 0 {
			return nil
		}
	}
	for _, in := range scans {
		scan, bare := in.(*indexScan)
		if f, ok := in.(*fetch); ok {
			scan, _ = f.in.(*indexScan)
		}
		if scan == nil || scan.index.Stored == nil || bare && cq.purpose == purposeFind && (!scan.hasOnePath() || !coveredBy(scan.index, paths)) {
			return nil
		}
		if first == nil || bare {
			first = scan
		}
	}
	return first
}

// hasRecords reports whether each branch of a union reads its records.
func hasRecords(n node) bool {
	switch n := n.(type) {
	case *fetch, *collScan:
		return true
	case *or:
		return haveRecords(n.in)
	case *sortMerge:
		return haveRecords(n.in)
	default:
		return false
	}
}

func haveRecords(in []node) bool {
	return !slices.ContainsFunc(in, func(n node) bool { return !hasRecords(n) })
}

// coversSorted returns the scan whose entries have all that a projection before a sort keeps, or nil.
func (cq *canonical) coversSorted(n node) *indexScan {
	f, ok := n.(*fetch)
	if !ok || f.filter != nil {
		return nil
	}
	scan, ok := f.in.(*indexScan)
	if !ok || !scan.hasOnePath() {
		return nil
	}
	paths, _ := cq.q.Projection.Fields()
	if len(paths) == 0 || !coveredBy(scan.index, paths) {
		return nil
	}
	return scan
}

// projectsSorted reports whether the projection can be done before the sort, so that less is sorted: it only picks
// fields, and the sort's are among them.
func (cq *canonical) projectsSorted() bool {
	p := cq.q.Projection
	if cq.purpose != purposeFind || p == nil || !p.IsSimple() || !p.IsInclusion() || cq.q.ReturnKey || cq.q.ShowRecordID {
		return false
	}
	paths, _ := p.Fields()
	for _, f := range cq.sort {
		top, _, _ := strings.Cut(f.path, ".")
		if !slices.Contains(paths, top) {
			return false
		}
	}
	return true
}
