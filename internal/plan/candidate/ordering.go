package candidate

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/index"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/plan/bounds"
	"github.com/sheafdb/sheaf/internal/plan/canonical"
	"github.com/sheafdb/sheaf/internal/plan/indexinfo"
	"github.com/sheafdb/sheaf/internal/plan/node"
)

// ordering finds scans, and merges of scans, that yield rows in the order of a query's sort.
type ordering struct{ cq *canonical.Query }

// provides reports whether a scan of x within bounds yields rows in the order of the sort, and
// whether it must scan backward. A field with a single value within the bounds may be missing in
// the sort, or stand anywhere in it.
func (o ordering) provides(x *indexinfo.Index, bounds []bounds.Intervals) (backward, ok bool) {
	sort := o.cq.Sort
	if x.JoinsValues() || !x.Collation.Same(o.cq.Asked.Collation) {
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

// withoutFixed returns a sort without its leading fields that have a single value within the
// bounds.
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
// document with an array is sorted by its least or greatest element. That is the first element that
// a scan meets, if the bounds do not exclude any element.
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
		// The keys of an index combine the fields of one array element. So bounds on one field
		// exclude other elements' values of this field.
		return false
	}
	return true
}

// sharesArray reports whether a component that two paths have in common was an array.
func sharesArray(a, b string, bits uint64) bool {
	n := canonical.SharedComponents(a, b)
	return n >= 64 || bits&(1<<n-1) != 0
}

// ordered returns a node that yields the rows of an access in the order of the sort: its scan in
// the right direction, or a merge of scans. It returns nil if that is not possible.
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

// orderedScan sets the direction in which a scan provides the sort, and returns the scan. If there
// is no such direction, it returns a merge of scans, or nil.
func (o ordering) orderedScan(scan *node.IndexScan) node.Node {
	if backward, ok := o.provides(scan.Index, scan.Bounds); ok {
		scan.Backward = backward
		return scan
	}
	return o.explode(scan)
}

// orderedOr turns a union into a merge, if all its branches provide the sort. Otherwise it returns
// nil.
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
		own := *scan // n must stay unchanged: a later branch may not provide the sort
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

// explode splits a scan whose leading fields have several single values into one scan for each
// combination of values. It returns a merge of these scans if each provides the sort, otherwise
// nil.
func (o ordering) explode(scan *node.IndexScan) node.Node {
	fields, scans := 0, 1
	for fields < len(scan.Bounds) && scan.Bounds[fields].IsPoints() {
		scans *= len(scan.Bounds[fields])
		fields++
		if scans > limits.ExplodedScans {
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

// sortsByKey reports whether the index contains all sort fields, so that a merge can compare its
// entries.
func (o ordering) sortsByKey(x *indexinfo.Index) bool {
	for _, s := range o.cq.Sort {
		if x.FieldOf(s.Path) < 0 {
			return false
		}
	}
	return true
}
