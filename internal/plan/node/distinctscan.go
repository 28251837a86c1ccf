package node

import (
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/filter"
)

// DistinctScan reads one entry for each distinct value of the leading fields of an index.
type DistinctScan struct {
	Scan   *IndexScan
	Fields int
	// Feeds is true if nodes above turn the entries into documents. In the plan of a distinct
	// command, the entries are the result.
	Feeds bool
}

func (*DistinctScan) stage() string           { return "DISTINCT_SCAN" }
func (*DistinctScan) input(int) Node          { return nil }
func (n *DistinctScan) residual() filter.Node { return n.Scan.Filter }
func (n *DistinctScan) reads() reading        { return reading{scan: n.Scan} }
func (*DistinctScan) sign(dst []byte) []byte  { return dst }

func (n *DistinctScan) build(b Builder) exec.Node {
	bounds := n.Scan.keyBounds(b.Shared)
	if bounds == nil {
		return exec.NewEmptyScan(b.Env)
	}
	return exec.NewDistinctScan(b.Env, exec.DistinctScanOptions{
		Coll: b.Q.Coll, Index: n.Scan.Index.Stored, Bounds: bounds, Backward: n.Scan.Backward, Fields: n.Fields,
		Filter: b.predicate(n.Scan.Filter), FilterPaths: n.Scan.Paths,
	})
}

func (*DistinctScan) again(b Builder, in exec.Node) exec.Node { return b.fetchAgain(in) }

// describe writes, for the scan of a distinct command, also a projection that turns the entries
// into documents, because MongoDB's plan has such a stage.
func (n *DistinctScan) describe(w *Writer, run exec.Node) {
	if n.Feeds {
		n.describeScan(w, run)
		return
	}
	b := w.B
	b.String("stage", "PROJECTION_COVERED")
	if run != nil {
		w.Counters(run.Stats(), Works(n, run))
	}
	b.Doc("transformBy", distinctSpec(n.Scan.Index.Fields[n.Fields-1].Path))
	b.StartDocField("inputStage")
	if w.hasRoom() {
		n.describeScan(w, run)
	}
	b.End()
}

func (n *DistinctScan) describeScan(w *Writer, run exec.Node) {
	w.begin(n, run)
	b := w.B
	w.indexKeys(n.Scan.Index)
	w.indexFlags(n.Scan.Index)
	b.Bool("isShardFiltering", false)
	b.Bool("isFetching", false)
	b.Int32("indexVersion", 2)
	b.String("direction", direction(n.Scan.Backward))
	w.bounds(n.Scan)
	if run != nil {
		b.Int32("keysExamined", int32(run.Stats().KeysExamined))
	}
}

// distinctSpec returns the projection that explain shows for a covered distinct.
func distinctSpec(field string) bsonx.Doc {
	if field == "_id" || strings.HasPrefix(field, "_id.") {
		return bsonx.NewDoc(field, 1)
	}
	return bsonx.NewDoc("_id", 0, field, 1)
}
