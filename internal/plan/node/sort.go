package node

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/plan/query"
)

// Sort sorts the rows of its input.
type Sort struct {
	In      Node
	Pattern bsonx.Doc
	Limit   int64 // 0 means no limit
	// Entries is true if index entries are sorted before their records are read.
	Entries bool
}

func (*Sort) stage() string          { return "SORT" }
func (n *Sort) input(i int) Node     { return sole(n.In, i) }
func (*Sort) residual() filter.Node  { return nil }
func (*Sort) reads() reading         { return reading{} }
func (*Sort) sign(dst []byte) []byte { return dst }

func (n *Sort) build(b Builder) exec.Node { return n.buildSort(b) }

// buildSort is build with a concrete result, for nodes above that configure the sort.
func (n *Sort) buildSort(b Builder) *exec.Sort {
	key := query.SortKey(n.Pattern, b.Q.Collation)
	if n.Entries {
		key = exec.EntryKey(query.SortPattern(n.Pattern))
	}
	s := exec.NewSort(b.Env, b.Build(n.In), key, n.Limit)
	if b.Q.ReadsIndexKey() {
		s.KeepIndexKeys()
	}
	if n.Entries {
		s.Entries()
		return s
	}
	s.ByDocument(query.SortPattern(n.Pattern))
	if Has[*TextOr](n.In) {
		s.Scored()
	}
	if Has[*GeoNear](n.In) {
		s.Located()
	}
	if or := SearchBelow(n.In); or != nil && or.Ranked {
		s.Ranked(n.Pattern.Len() == 1)
	}
	return s
}

// again yields the row unchanged: rows of a sort are not shaped again.
func (*Sort) again(b Builder, in exec.Node) exec.Node { return b.fetchAgain(in) }

func (n *Sort) describe(w *Writer, run exec.Node) {
	w.begin(n, run)
	b := w.B
	b.Doc("sortPattern", query.ShownPattern(n.Pattern))
	b.Int64("memLimit", int64(w.sortMemory))
	if n.Limit > 0 {
		b.Int64("limitAmount", n.Limit)
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

// kind returns the type of the sort that explain prints: "simple" if its rows are only documents,
// otherwise "default".
func (n *Sort) kind(w *Writer) string {
	if w.Targets || n.Entries || Has[*TextOr](n) || w.q.WantsPlace() {
		return "default"
	}
	return "simple"
}
