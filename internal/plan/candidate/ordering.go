package candidate

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/index"
	"github.com/sheafdb/sheaf/internal/plan/bounds"
	"github.com/sheafdb/sheaf/internal/plan/canonical"
	"github.com/sheafdb/sheaf/internal/plan/indexinfo"
	"github.com/sheafdb/sheaf/internal/plan/node"
)

// maxScansToExplode bounds how many scans one index scan is split into to provide a sort
// (internalQueryMaxScansToExplode).
const maxScansToExplode = 200

// ordering finds scans, and merges of scans, that give rows in the order of a query's sort.
type ordering struct{ cq *canonical.Query }

// provides reports whether a scan of x within bounds gives rows in the order of the sort, and in
// which direction it has to scan. Fields that are a single value can be left out and can stand
// anywhere in the sort.
func (o ordering) provides(x *indexinfo.Index, bounds []bounds.Intervals) (backward, ok bool) {
	sort := o.cq.Sort
	if x.Kind == index.Plane || !x.Collation.Same(o.cq.Asked.Collation) {
		return false, false
	}
	rest := withoutFixed(x, bounds, sort)
	direction := 0
	for f := 0; f < len(x.Fields) && len(rest) > 0; f++ {
		field := x.Fields[f]
		if !field.Holds(rest[0].Path) {
			if bounds[f].IsPoint() {
				continue
			}
			return false, false
		}
		if !sortableField(x, bounds, f) {
			return false, false
		}
		want := 1
		if field.Desc != rest[0].Desc {
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

// withoutFixed returns a sort without the fields that it begins with but that have a single value
// within the bounds.
func withoutFixed(x *indexinfo.Index, bounds []bounds.Intervals, sort []canonical.SortField) []canonical.SortField {
	for len(sort) > 0 {
		f := slices.IndexFunc(x.Fields, func(f index.Field) bool {
			return canonical.IsBoundBy(f, sort[0].Path) &&
				!indexinfo.IsGeo(f)
		})
		if f < 0 || !bounds[f].IsPoint() || x.Bits(f) != 0 {
			break
		}
		sort = sort[1:]
	}
	return sort
}

// sortableField reports whether the order of an index field is the order of a sort by its path. A
// document with an array sorts by its least or greatest element: the first one that a scan meets,
// if bounds hide none of them.
func sortableField(x *indexinfo.Index, bounds []bounds.Intervals, field int) bool {
	bits := x.Bits(field)
	if bits == 0 {
		return true
	}
	if !bounds[field].IsAll() {
		return false
	}
	for f := range x.Fields {
		if f == field || bounds[f].IsAll() || x.Bits(f) == 0 ||
			!sharesArray(x.Fields[f].Path, x.Fields[field].Path, bits) {
			continue
		}
		// The fields of one array's elements stand side by side in its keys: bounds on one hide
		// elements of the other.
		return false
	}
	return true
}

// sharesArray reports whether a component that two paths have in common was an array.
func sharesArray(a, b string, bits uint64) bool {
	n := canonical.SharedComponents(a, b)
	return n >= 64 || bits&(1<<n-1) != 0
}

// ordered returns a's scan in the direction that provides the sort, or a merge of scans that does,
// or nil.
func (o ordering) ordered(a *access) node.Node {
	if len(o.cq.Sort) == 0 {
		return nil
	}
	if scan, ok := a.node.(*node.IndexScan); ok {
		return o.orderedScan(scan)
	}
	if union, ok := a.node.(*node.Or); ok {
		return o.orderedOr(union)
	}
	return nil
}

// orderedScan gives a scan the direction that provides the sort and returns it, or a merge of
// scans, or nil.
func (o ordering) orderedScan(scan *node.IndexScan) node.Node {
	if backward, ok := o.provides(scan.Index, scan.Bounds); ok {
		scan.Backward = backward
		return scan
	}
	return o.explode(scan)
}

// orderedOr turns a union whose branches all provide the sort into a merge.
func (o ordering) orderedOr(n *node.Or) node.Node {
	merge := &node.SortMerge{Pattern: o.cq.Asked.Sort, Dedup: true}
	for _, in := range n.In {
		scan, isScan := in.(*node.IndexScan)
		f, isFetch := in.(*node.Fetch)
		if isFetch {
			scan, isScan = f.In.(*node.IndexScan)
		}
		if !isScan {
			return nil
		}
		own := *scan // n stays what it is: a later branch may not provide the sort
		directed := o.orderedScan(&own)
		if directed == nil {
			return nil
		}
		branches := []node.Node{directed}
		if m, ok := directed.(*node.SortMerge); ok {
			branches = m.In
		}
		merge.Documents = merge.Documents || !o.sortsByKey(scan.Index)
		for _, b := range branches {
			if isFetch {
				b = &node.Fetch{In: b, Filter: f.Filter}
			}
			merge.In = append(merge.In, b)
		}
	}
	if merge.Documents {
		for i, in := range merge.In {
			if !hasRecords(in) {
				merge.In[i] = &node.Fetch{In: in}
			}
		}
	}
	return merge
}

// explode splits a scan whose leading fields are several single values into a scan for each of
// them, each of which provides the sort.
func (o ordering) explode(scan *node.IndexScan) node.Node {
	fields, scans := 0, 1
	for fields < len(scan.Bounds) && scan.Bounds[fields].IsPoints() {
		scans *= len(scan.Bounds[fields])
		fields++
		if scans > maxScansToExplode {
			return nil
		}
	}
	if fields == 0 || scans < 2 {
		return nil
	}
	merge := &node.SortMerge{Pattern: o.cq.Asked.Sort, Dedup: scan.Dedup}
	for i := range scans {
		part := scan.Part()
		rest := i
		for f := fields - 1; f >= 0; f-- {
			n := len(scan.Bounds[f])
			part.Bounds[f] = scan.Bounds[f][rest%n : rest%n+1]
			rest /= n
		}
		backward, ok := o.provides(scan.Index, part.Bounds)
		if !ok || !o.sortsByKey(scan.Index) {
			return nil
		}
		part.Backward = backward
		merge.In = append(merge.In, part)
	}
	if first := merge.In[0].(*node.IndexScan); first.Backward {
		for i, j := 0, len(merge.In)-1; i < j; i, j = i+1, j-1 {
			merge.In[i], merge.In[j] = merge.In[j], merge.In[i]
		}
	}
	return merge
}

// sortsByKey reports whether all sort fields stand in the index, so that its entries can be
// compared in a merge.
func (o ordering) sortsByKey(x *indexinfo.Index) bool {
	for _, s := range o.cq.Sort {
		if x.FieldOf(s.Path) < 0 {
			return false
		}
	}
	return true
}
