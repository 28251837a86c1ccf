package plan

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/projection"
)

// node is an operator of a plan: an immutable description from which build makes an exec.Node.
//
//sumtype:decl
type node interface {
	// stage is the name that explain prints.
	stage() string
	inputs() []node
}

type (
	// collScan reads all records, or those in a range of _id, and passes those that match filter.
	collScan struct {
		filter    filter.Node // nil: all
		backward  bool
		clustered bool // a collection that was created with a clusteredIndex: CLUSTERED_IXSCAN
		ids       interval
		hasIDs    bool
		tailable  bool
	}
	// idHack reads one record by its _id.
	idHack struct{ id bsonx.Value }
	// express is how explain names a plan for at most one record by equality on an index: the plan below it runs.
	express struct {
		index *indexInfo
		in    node
	}
	// indexScan reads the entries within bounds.
	indexScan struct {
		index    *indexInfo
		bounds   []intervals // one per field of the index
		backward bool
		filter   filter.Node // asked on the entry; nil: all
		paths    []string    // the fields that filter reads
		dedup    bool
		// noRecord is true where nothing above needs the record.
		noRecord bool
		// min and max replace bounds for the find options of these names: keys without field names.
		min, max bsonx.Doc
	}
	fetch struct {
		in     node
		filter filter.Node // nil: all
	}
	or        struct{ in []node }
	sortMerge struct {
		in      []node
		pattern bsonx.Doc
		dedup   bool
	}
	sortNode struct {
		in      node
		pattern bsonx.Doc
		limit   int64 // 0: none
	}
	limit struct {
		in node
		n  int64
	}
	skip struct {
		in node
		n  int64
	}
	// project shapes documents; covered makes them from index entries.
	project struct {
		in      node
		p       *projection.Projection
		spec    bsonx.Doc
		covered *indexScan
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
func (*or) stage() string        { return "OR" }
func (*sortMerge) stage() string { return "SORT_MERGE" }
func (*sortNode) stage() string  { return "SORT" }
func (*limit) stage() string     { return "LIMIT" }
func (*skip) stage() string      { return "SKIP" }
func (n *project) stage() string {
	switch {
	case !n.p.IsSimple():
		return "PROJECTION_DEFAULT"
	case n.covered != nil:
		return "PROJECTION_COVERED"
	default:
		return "PROJECTION_SIMPLE"
	}
}

func (n *express) stage() string {
	if n.index.clustered {
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

func (*collScan) inputs() []node     { return nil }
func (*idHack) inputs() []node       { return nil }
func (n *express) inputs() []node    { return []node{n.in} }
func (*indexScan) inputs() []node    { return nil }
func (n *fetch) inputs() []node      { return []node{n.in} }
func (n *or) inputs() []node         { return n.in }
func (n *sortMerge) inputs() []node  { return n.in }
func (n *sortNode) inputs() []node   { return []node{n.in} }
func (n *limit) inputs() []node      { return []node{n.in} }
func (n *skip) inputs() []node       { return []node{n.in} }
func (n *project) inputs() []node    { return []node{n.in} }
func (n *returnKey) inputs() []node  { return []node{n.in} }
func (n *recordID) inputs() []node   { return []node{n.in} }
func (n *subplan) inputs() []node    { return []node{n.in} }
func (*eof) inputs() []node          { return nil }
func (n *count) inputs() []node      { return []node{n.in} }
func (*countScan) inputs() []node    { return nil }
func (*fastCount) inputs() []node    { return nil }
func (*distinctScan) inputs() []node { return nil }

// walk calls f for n and all nodes below it.
func walk(n node, f func(node)) {
	f(n)
	for _, in := range n.inputs() {
		walk(in, f)
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
