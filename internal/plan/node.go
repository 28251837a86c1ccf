package plan

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/index"
	"github.com/sheafdb/sheaf/internal/plan/bounds"
	"github.com/sheafdb/sheaf/internal/plan/indexinfo"
	"github.com/sheafdb/sheaf/internal/projection"
)

// node is an operator of a plan: an immutable description from which build makes an exec.Node.
//
//sumtype:decl
type node interface {
	// stage is the name that explain prints.
	stage() string
	// input returns the i-th node that this one reads from; nil behind the last.
	input(i int) node
}

type (
	// collScan reads all records, or those in a range of _id, and passes those that match filter.
	collScan struct {
		filter    filter.Node // nil: all
		backward  bool
		clustered bool // a collection that was created with a clusteredIndex: CLUSTERED_IXSCAN
		ids       bounds.Interval
		hasIDs    bool
		tailable  bool
	}
	// idHack reads one record by its _id.
	idHack struct{ id bsonx.Value }
	// express is how explain names a plan for at most one record by equality on an index: the plan below it runs.
	express struct {
		index *indexinfo.Index
		in    node
	}
	// indexScan reads the entries within bounds.
	indexScan struct {
		index    *indexinfo.Index
		bounds   []bounds.Intervals // one per field of the index
		backward bool
		filter   filter.Node // asked on the entry; nil: all
		paths    []string    // the fields that filter reads
		dedup    bool
		// noRecord is true where nothing above needs the record.
		noRecord bool
		// min and max replace bounds for the find options of these names: keys without field names.
		min, max bsonx.Doc
		keys     *exec.Bounds        // of min and max
		room     [2]bounds.Intervals // for the bounds of an index of so many fields
	}
	fetch struct {
		in     node
		filter filter.Node // nil: all
	}
	// geoNear reads the records of an index's entries by their distance from a point.
	geoNear struct {
		near   *filter.GeoNear
		field  int         // of the index: what the distance is of
		scan   *indexScan  // the index, and bounds of its other fields
		filter filter.Node // nil: all
	}
	or        struct{ in []node }
	sortMerge struct {
		in      []node
		pattern bsonx.Doc
		dedup   bool
		// documents is true if rows are compared by their documents, because an entry lacks a field
		// of the sort.
		documents bool
	}
	sortNode struct {
		in      node
		pattern bsonx.Doc
		limit   int64 // 0: none
		// entries is true if index entries are sorted before their records are read.
		entries bool
	}
	limit struct {
		in node
		n  int64
	}
	skip struct {
		in node
		n  int64
	}
	// project shapes documents; covered makes them from index entries, where union is true from those of several scans or
	// from documents that a branch has read.
	project struct {
		in      node
		p       *projection.Projection
		spec    bsonx.Doc
		covered *indexScan
		union   bool
	}
	returnKey struct{ in node }
	// recordID adds $recordId.
	recordID struct{ in node }
	// subplan is explain's frame around the plan of a filter that is one $or.
	subplan struct{ in node }
	eof     struct{ why string }

	count struct {
		in          node
		skip, limit int64
	}
	countScan    struct{ scan *indexScan }
	fastCount    struct{ skip, limit int64 }
	distinctScan struct {
		scan   *indexScan
		fields int
		// feeds is true where nodes above make documents of its entries; those of a distinct command are the result.
		feeds bool
	}
)

// The reasons of an EOF, as explain names them.
const (
	eofNoNamespace = "nonExistentNamespace"
	eofAlwaysFalse = "predicateEvalsToFalse"
)

func (n *collScan) stage() string {
	if n.clustered && n.hasIDs {
		return "CLUSTERED_IXSCAN"
	}
	return "COLLSCAN"
}
func (*idHack) stage() string    { return "IDHACK" }
func (*indexScan) stage() string { return "IXSCAN" }
func (*fetch) stage() string     { return "FETCH" }
func (n *geoNear) stage() string {
	if n.scan.index.Kind == index.Plane {
		return "GEO_NEAR_2D"
	}
	return "GEO_NEAR_2DSPHERE"
}
func (*or) stage() string        { return "OR" }
func (*sortMerge) stage() string { return "SORT_MERGE" }
func (*sortNode) stage() string  { return "SORT" }
func (*limit) stage() string     { return "LIMIT" }
func (*skip) stage() string      { return "SKIP" }
func (n *project) stage() string {
	switch {
	case n.union, !n.p.IsSimple():
		return "PROJECTION_DEFAULT"
	case n.covered != nil:
		return "PROJECTION_COVERED"
	default:
		return "PROJECTION_SIMPLE"
	}
}

func (n *express) stage() string {
	if n.index.Clustered {
		return "EXPRESS_CLUSTERED_IXSCAN"
	}
	return "EXPRESS_IXSCAN"
}
func (*returnKey) stage() string    { return "RETURN_KEY" }
func (*recordID) stage() string     { return "" }
func (*subplan) stage() string      { return "SUBPLAN" }
func (*eof) stage() string          { return "EOF" }
func (*count) stage() string        { return "COUNT" }
func (*countScan) stage() string    { return "COUNT_SCAN" }
func (*fastCount) stage() string    { return "RECORD_STORE_FAST_COUNT" }
func (*distinctScan) stage() string { return "DISTINCT_SCAN" }

func (*collScan) input(int) node      { return nil }
func (*idHack) input(int) node        { return nil }
func (n *express) input(i int) node   { return sole(n.in, i) }
func (*indexScan) input(int) node     { return nil }
func (*geoNear) input(int) node       { return nil }
func (n *fetch) input(i int) node     { return sole(n.in, i) }
func (n *or) input(i int) node        { return nth(n.in, i) }
func (n *sortMerge) input(i int) node { return nth(n.in, i) }
func (n *sortNode) input(i int) node  { return sole(n.in, i) }
func (n *limit) input(i int) node     { return sole(n.in, i) }
func (n *skip) input(i int) node      { return sole(n.in, i) }
func (n *project) input(i int) node   { return sole(n.in, i) }
func (n *returnKey) input(i int) node { return sole(n.in, i) }
func (n *recordID) input(i int) node  { return sole(n.in, i) }
func (n *subplan) input(i int) node   { return sole(n.in, i) }
func (*eof) input(int) node           { return nil }
func (n *count) input(i int) node     { return sole(n.in, i) }
func (*countScan) input(int) node     { return nil }
func (*fastCount) input(int) node     { return nil }
func (*distinctScan) input(int) node  { return nil }

// sole is input of a node that reads from one.
func sole(in node, i int) node {
	if i > 0 {
		return nil
	}
	return in
}

// nth is input of a node that reads from several.
func nth(in []node, i int) node {
	if i >= len(in) {
		return nil
	}
	return in[i]
}

// walk calls f for n and all nodes below it.
func walk(n node, f func(node)) {
	f(n)
	for i := 0; n.input(i) != nil; i++ {
		walk(n.input(i), f)
	}
}

// has reports whether a node of type T is in the tree.
func has[T node](n node) bool {
	found := false
	walk(n, func(n node) {
		if _, ok := n.(T); ok {
			found = true
		}
	})
	return found
}
