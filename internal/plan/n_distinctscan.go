package plan

import (
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/filter"
)

// distinctScan reads one entry for each value of the leading fields of an index.
type distinctScan struct {
	scan   *indexScan
	fields int
	// feeds is true where nodes above make documents of its entries; those of a distinct command are the result.
	feeds bool
}

func (*distinctScan) stage() string           { return "DISTINCT_SCAN" }
func (*distinctScan) input(int) node          { return nil }
func (n *distinctScan) residual() filter.Node { return n.scan.filter }
func (n *distinctScan) reads() reading        { return reading{scan: n.scan} }
func (*distinctScan) sign(dst []byte) []byte  { return dst }

func (n *distinctScan) build(b builder) exec.Node {
	bounds := n.scan.keyBounds(b.shared)
	if bounds == nil {
		return exec.NewEmptyScan(b.env)
	}
	return exec.NewDistinctScan(b.env, exec.DistinctScanOptions{
		Coll: b.q.Coll, Index: n.scan.index.Stored, Bounds: bounds, Backward: n.scan.backward, Fields: n.fields,
		Filter: b.predicate(n.scan.filter), FilterPaths: n.scan.paths,
	})
}

func (*distinctScan) again(b builder, in exec.Node) exec.Node { return b.fetchAgain(in) }

// describe writes, above the scan of a distinct command, the projection that makes documents of its entries.
func (n *distinctScan) describe(w *stageWriter, run exec.Node) {
	if n.feeds {
		n.describeScan(w, run)
		return
	}
	b := w.b
	b.String("stage", "PROJECTION_COVERED")
	if run != nil {
		w.counters(run.Stats(), works(n, run))
	}
	b.Doc("transformBy", distinctSpec(n.scan.index.Fields[n.fields-1].Path))
	b.StartDocField("inputStage")
	if w.hasRoom() {
		n.describeScan(w, run)
	}
	b.End()
}

func (n *distinctScan) describeScan(w *stageWriter, run exec.Node) {
	w.begin(n, run)
	b := w.b
	w.indexKeys(n.scan.index)
	w.indexFlags(n.scan.index)
	b.Bool("isShardFiltering", false)
	b.Bool("isFetching", false)
	b.Int32("indexVersion", 2)
	b.String("direction", direction(n.scan.backward))
	w.bounds(n.scan)
	if run != nil {
		b.Int32("keysExamined", int32(run.Stats().KeysExamined))
	}
}

// distinctSpec is the projection that explain shows for a covered distinct.
func distinctSpec(field string) bsonx.Doc {
	if field == "_id" || strings.HasPrefix(field, "_id.") {
		return bsonx.NewDoc(field, 1)
	}
	return bsonx.NewDoc("_id", 0, field, 1)
}
