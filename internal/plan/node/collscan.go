package node

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/plan/bounds"
)

// CollScan reads all records, or the records in a range of _id (of ts in the oplog), and yields
// those that match Filter.
type CollScan struct {
	Filter    filter.Node // nil means all
	Backward  bool
	Clustered bool // the collection was created with a clusteredIndex: explain prints CLUSTERED_IXSCAN
	IDs       bounds.Interval
	HasIDs    bool
	Tailable  bool
}

func (n *CollScan) stage() string {
	if n.Clustered && n.HasIDs {
		return "CLUSTERED_IXSCAN"
	}
	return "COLLSCAN"
}

func (*CollScan) input(int) Node          { return nil }
func (n *CollScan) residual() filter.Node { return n.Filter }
func (*CollScan) reads() reading          { return reading{records: true} }
func (*CollScan) sign(dst []byte) []byte  { return dst }

func (n *CollScan) build(b Builder) exec.Node {
	o := exec.CollScanOptions{Coll: b.Q.Coll, Filter: b.predicate(n.Filter), Backward: n.Backward, Tailable: n.Tailable}
	if n.HasIDs {
		prefix := b.Q.Coll.RecordPrefix()
		r := bounds.RangeOf(n.IDs, false)
		o.Lower = slices.Concat(prefix, r.Lo)
		o.Upper = slices.Concat(prefix, r.Hi)
	}
	return exec.NewCollScan(b.Env, o)
}

func (*CollScan) again(b Builder, in exec.Node) exec.Node { return b.fetchAgain(in) }

func (n *CollScan) describe(w *Writer, run exec.Node) {
	w.begin(n, run)
	w.B.String("direction", direction(n.Backward))
	if n.HasIDs {
		w.value("minRecord", n.IDs.Low)
		w.value("maxRecord", n.IDs.High)
	}
	if run != nil {
		w.B.Int32("docsExamined", int32(run.Stats().DocsExamined))
	}
}
