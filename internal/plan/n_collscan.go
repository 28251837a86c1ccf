package plan

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/plan/bounds"
)

// collScan reads all records, or those in a range of _id, and passes those that match filter.
type collScan struct {
	filter    filter.Node // nil: all
	backward  bool
	clustered bool // a collection that was created with a clusteredIndex: CLUSTERED_IXSCAN
	ids       bounds.Interval
	hasIDs    bool
	tailable  bool
}

func (n *collScan) stage() string {
	if n.clustered && n.hasIDs {
		return "CLUSTERED_IXSCAN"
	}
	return "COLLSCAN"
}

func (*collScan) input(int) node          { return nil }
func (n *collScan) residual() filter.Node { return n.filter }
func (*collScan) reads() reading          { return reading{records: true} }
func (*collScan) sign(dst []byte) []byte  { return dst }

func (n *collScan) build(b builder) exec.Node {
	o := exec.CollScanOptions{Coll: b.q.Coll, Filter: b.predicate(n.filter), Backward: n.backward, Tailable: n.tailable}
	if n.hasIDs {
		prefix := b.q.Coll.RecordPrefix()
		r := bounds.RangeOf(n.ids, false)
		o.Lower = slices.Concat(prefix, r.Lo)
		o.Upper = slices.Concat(prefix, r.Hi)
	}
	return exec.NewCollScan(b.env, o)
}

func (*collScan) again(b builder, in exec.Node) exec.Node { return b.fetchAgain(in) }

func (n *collScan) describe(w *stageWriter, run exec.Node) {
	w.begin(n, run)
	w.b.String("direction", direction(n.backward))
	if n.hasIDs {
		w.value("minRecord", n.ids.Low)
		w.value("maxRecord", n.ids.High)
	}
	if run != nil {
		w.b.Int32("docsExamined", int32(run.Stats().DocsExamined))
	}
}
