package plan

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/plan/query"
)

// sortMerge merges sorted inputs.
type sortMerge struct {
	in      []node
	pattern bsonx.Doc
	dedup   bool
	// documents is true if rows are compared by their documents, because an entry lacks a field
	// of the sort.
	documents bool
}

func (*sortMerge) stage() string          { return "SORT_MERGE" }
func (n *sortMerge) input(i int) node     { return nth(n.in, i) }
func (*sortMerge) residual() filter.Node  { return nil }
func (*sortMerge) reads() reading         { return reading{} }
func (*sortMerge) sign(dst []byte) []byte { return dst }

func (n *sortMerge) build(b builder) exec.Node {
	key := exec.EntryKey(query.SortPattern(n.pattern))
	if n.documents {
		key = query.SortKey(n.pattern, b.q.Collation)
	}
	return exec.NewSortMerge(b.env, b.q.Coll, b.buildAll(n.in), key, n.dedup)
}

func (*sortMerge) again(b builder, in exec.Node) exec.Node { return b.fetchAgain(in) }

func (n *sortMerge) describe(w *stageWriter, run exec.Node) {
	w.begin(n, run)
	w.b.Doc("sortPattern", n.pattern)
	w.duplicates(run)
	w.inputs(n, run)
}
