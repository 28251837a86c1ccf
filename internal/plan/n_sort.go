package plan

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/plan/query"
)

// sortNode sorts the rows of its input.
type sortNode struct {
	in      node
	pattern bsonx.Doc
	limit   int64 // 0: none
	// entries is true if index entries are sorted before their records are read.
	entries bool
}

func (*sortNode) stage() string          { return "SORT" }
func (n *sortNode) input(i int) node     { return sole(n.in, i) }
func (*sortNode) residual() filter.Node  { return nil }
func (*sortNode) reads() reading         { return reading{} }
func (*sortNode) sign(dst []byte) []byte { return dst }

func (n *sortNode) build(b builder) exec.Node { return n.buildSort(b) }

// buildSort is build, for nodes above that tell the sort what to keep.
func (n *sortNode) buildSort(b builder) *exec.Sort {
	key := query.SortKey(n.pattern, b.q.Collation)
	if n.entries {
		key = exec.EntryKey(query.SortPattern(n.pattern))
	}
	s := exec.NewSort(b.env, b.build(n.in), key, n.limit)
	if b.q.ReadsIndexKey() {
		s.KeepIndexKeys()
	}
	if n.entries {
		s.Entries()
		return s
	}
	s.ByDocument(query.SortPattern(n.pattern))
	if has[*textOr](n.in) {
		s.Scored()
	}
	if has[*geoNear](n.in) {
		s.Located()
	}
	if or := searchBelow(n.in); or != nil && or.ranked {
		s.Ranked(n.pattern.Len() == 1)
	}
	return s
}

// again gives a row as it came: those of a sort are not shaped again.
func (*sortNode) again(b builder, in exec.Node) exec.Node { return b.fetchAgain(in) }

func (n *sortNode) describe(w *stageWriter, run exec.Node) {
	w.begin(n, run)
	b := w.b
	b.Doc("sortPattern", query.ShownPattern(n.pattern))
	b.Int64("memLimit", int64(w.sortMemory))
	if n.limit > 0 {
		b.Int64("limitAmount", n.limit)
	}
	b.String("type", n.kind(w))
	if run != nil {
		s := run.Stats()
		b.Int64("totalDataSizeSorted", int64(s.SortedBytes))
		b.Bool("usedDisk", s.Spills > 0)
		b.Int64("spills", int64(s.Spills))
		b.Int64("spilledRecords", int64(s.SpilledRecords))
		b.Int64("spilledBytes", int64(s.SpilledBytes))
		b.Int64("spilledDataStorageSize", int64(s.SpilledBytes))
	}
	w.input(n, run)
}

// kind tells sorts whose rows are not documents alone.
func (n *sortNode) kind(w *stageWriter) string {
	if w.targets || n.entries || has[*textOr](n) || w.q.WantsPlace() {
		return "default"
	}
	return "simple"
}
