package plan

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/index"
	"github.com/sheafdb/sheaf/internal/plan/bounds"
	"github.com/sheafdb/sheaf/internal/plan/indexinfo"
)

// maxScansToExplode bounds how many scans one index scan is split into to provide a sort
// (internalQueryMaxScansToExplode).
const maxScansToExplode = 200

// ordering finds scans, and merges of scans, that give rows in the order of a query's sort.
type ordering struct{ cq *canonical }

// provides reports whether a scan of x within bounds gives rows in the order of the sort, and in which direction it has
// to scan. Fields that are a single value can be left out and can stand anywhere in the sort.
func (o ordering) provides(x *indexinfo.Index, bounds []bounds.Intervals) (backward, ok bool) {
	sort := o.cq.sort
	if x.Kind == index.Plane || !x.Collation.Same(o.cq.q.Collation) {
		return false, false
	}
	rest := withoutFixed(x, bounds, sort)
	direction := 0
	for f := 0; f < len(x.Fields) && len(rest) > 0; f++ {
		field := x.Fields[f]
		if !field.Holds(rest[0].path) {
			if bounds[f].IsPoint() {
				continue
			}
			return false, false
		}
		if !sortableField(x, bounds, f) {
			return false, false
		}
		want := 1
		if field.Desc != rest[0].desc {
			want = -1
		}
		if direction != 0 && direction != want {
			return false, false
		}
		direction = want
		rest = withoutFixed(x, bounds, rest[1:])
	}
	return direction == -1, len(rest) == 0
}

// withoutFixed returns a sort without the fields that it begins with but that have a single value within the bounds.
func withoutFixed(x *indexinfo.Index, bounds []bounds.Intervals, sort []sortField) []sortField {
	for len(sort) > 0 {
		f := slices.IndexFunc(x.Fields, func(f index.Field) bool { return isBoundBy(f, sort[0].path) && !indexinfo.IsGeo(f) })
		if f < 0 || !bounds[f].IsPoint() || x.Bits(f) != 0 {
			break
		}
		sort = sort[1:]
	}
	return sort
}

// sortableField reports whether the order of an index field is the order of a sort by its path. A document with an
// array sorts by its least or greatest element: the first one that a scan meets, if bounds hide none of them.
func sortableField(x *indexinfo.Index, bounds []bounds.Intervals, field int) bool {
	bits := x.Bits(field)
	if bits == 0 {
		return true
	}
	if !bounds[field].IsAll() {
		return false
	}
	for f := range x.Fields {
		if f == field || bounds[f].IsAll() || x.Bits(f) == 0 || !sharesArray(x.Fields[f].Path, x.Fields[field].Path, bits) {
			continue
		}
		// The fields of one array's elements stand side by side in its keys: bounds on one hide elements of the
		// other.
		return false
	}
	return true
}

// sharesArray reports whether a component that two paths have in common was an array.
func sharesArray(a, b string, bits uint64) bool {
	n := sharedComponents(a, b)
	return n >= 64 || bits&(1<<n-1) != 0
}

// ordered returns a's scan in the direction that provides the sort, or a merge of scans that does, or nil.
func (o ordering) ordered(a *access) node {
	if len(o.cq.sort) == 0 {
		return nil
	}
	if scan, ok := a.node.(*indexScan); ok {
		return o.orderedScan(scan)
	}
	if union, ok := a.node.(*or); ok {
		return o.orderedOr(union)
	}
	return nil
}

// orderedScan gives a scan the direction that provides the sort and returns it, or a merge of scans, or nil.
func (o ordering) orderedScan(scan *indexScan) node {
	if backward, ok := o.provides(scan.index, scan.bounds); ok {
		scan.backward = backward
		return scan
	}
	return o.explode(scan)
}

// orderedOr turns a union whose branches all provide the sort into a merge.
func (o ordering) orderedOr(n *or) node {
	merge := &sortMerge{pattern: o.cq.q.Sort, dedup: true}
	for _, in := range n.in {
		scan, isScan := in.(*indexScan)
		f, isFetch := in.(*fetch)
		if isFetch {
			scan, isScan = f.in.(*indexScan)
		}
		if !isScan {
			return nil
		}
		own := *scan // n stays what it is: a later branch may not provide the sort
		directed := o.orderedScan(&own)
		if directed == nil {
			return nil
		}
		branches := []node{directed}
		if m, ok := directed.(*sortMerge); ok {
			branches = m.in
		}
		merge.documents = merge.documents || !o.sortsByKey(scan.index)
		for _, b := range branches {
			if isFetch {
				b = &fetch{in: b, filter: f.filter}
			}
			merge.in = append(merge.in, b)
		}
	}
	if merge.documents {
		for i, in := range merge.in {
			if !hasRecords(in) {
				merge.in[i] = &fetch{in: in}
			}
		}
	}
	return merge
}

// explode splits a scan whose leading fields are several single values into a scan for each of them, each of which
// provides the sort.
func (o ordering) explode(scan *indexScan) node {
	fields, scans := 0, 1
	for fields < len(scan.bounds) && scan.bounds[fields].IsPoints() {
		scans *= len(scan.bounds[fields])
		fields++
		if scans > maxScansToExplode {
			return nil
		}
	}
	if fields == 0 || scans < 2 {
		return nil
	}
	merge := &sortMerge{pattern: o.cq.q.Sort, dedup: scan.dedup}
	for i := range scans {
		part := *scan
		part.bounds = append(part.room[:0], scan.bounds...)
		rest := i
		for f := fields - 1; f >= 0; f-- {
			n := len(scan.bounds[f])
			part.bounds[f] = scan.bounds[f][rest%n : rest%n+1]
			rest /= n
		}
		backward, ok := o.provides(scan.index, part.bounds)
		if !ok || !o.sortsByKey(scan.index) {
			return nil
		}
		part.backward = backward
		merge.in = append(merge.in, &part)
	}
	if first := merge.in[0].(*indexScan); first.backward {
		for i, j := 0, len(merge.in)-1; i < j; i, j = i+1, j-1 {
			merge.in[i], merge.in[j] = merge.in[j], merge.in[i]
		}
	}
	return merge
}

// sortsByKey reports whether all sort fields stand in the index, so that its entries can be compared in a merge.
func (o ordering) sortsByKey(x *indexinfo.Index) bool {
	for _, s := range o.cq.sort {
		if x.FieldOf(s.path) < 0 {
			return false
		}
	}
	return true
}
