package node

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/plan/query"
)

// SortMerge merges sorted inputs.
type SortMerge struct {
	In      []Node
	Pattern bsonx.Doc
	Dedup   bool
	// Documents is true if rows are compared by their documents, because the index entries lack a
	// field of the sort.
	Documents bool
}

func (*SortMerge) stage() string          { return "SORT_MERGE" }
func (n *SortMerge) input(i int) Node     { return nth(n.In, i) }
func (*SortMerge) residual() filter.Node  { return nil }
func (*SortMerge) reads() reading         { return reading{} }
func (*SortMerge) sign(dst []byte) []byte { return dst }

func (n *SortMerge) build(b Builder) exec.Node {
	key := exec.EntryKey(query.SortPattern(n.Pattern))
	if n.Documents {
		key = query.SortKey(n.Pattern, b.Q.Collation)
	}
	return exec.NewSortMerge(b.Env, b.Q.Coll, b.buildAll(n.In), key, n.Dedup)
}

func (*SortMerge) again(b Builder, in exec.Node) exec.Node { return b.fetchAgain(in) }

func (n *SortMerge) describe(w *Writer, run exec.Node) {
	w.begin(n, run)
	w.B.Doc("sortPattern", n.Pattern)
	w.duplicates(run)
	w.inputs(n, run)
}
