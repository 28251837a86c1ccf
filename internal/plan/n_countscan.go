package plan

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/plan/bounds"
)

// countScan counts the entries of one range of an index.
type countScan struct{ scan *indexScan }

func (*countScan) stage() string          { return "COUNT_SCAN" }
func (*countScan) input(int) node         { return nil }
func (*countScan) residual() filter.Node  { return nil }
func (n *countScan) reads() reading       { return reading{scan: n.scan} }
func (*countScan) sign(dst []byte) []byte { return dst }

func (n *countScan) build(b builder) exec.Node {
	bounds := n.scan.keyBounds(b.shared)
	if bounds == nil {
		return exec.NewEmptyScan(b.env)
	}
	return exec.NewCountScan(b.env, b.q.Coll, n.scan.index.Stored, bounds, n.scan.dedup)
}

func (*countScan) again(b builder, in exec.Node) exec.Node { return b.fetchAgain(in) }

// describe writes the range by its ends.
func (n *countScan) describe(w *stageWriter, run exec.Node) {
	w.begin(n, run)
	x, b := n.scan.index, w.b
	if run != nil {
		b.Int32("keysExamined", int32(run.Stats().KeysExamined))
	}
	w.indexKeys(x)
	w.indexFlags(x)
	b.Int32("indexVersion", 2)
	lowIncl, highIncl := true, true
	low, high := bsonx.NewBuilder(nil), bsonx.NewBuilder(nil)
	low.StartDoc()
	high.StartDoc()
	for i, ivs := range n.scan.bounds {
		if len(ivs) == 0 {
			continue
		}
		iv, path := ivs[0], x.Fields[i].Path
		if x.Fields[i].Desc {
			iv = bounds.Interval{Low: iv.High, High: iv.Low, LowIncl: iv.HighIncl, HighIncl: iv.LowIncl}
		}
		low.Value(path, iv.Low)
		high.Value(path, iv.High)
		lowIncl, highIncl = lowIncl && iv.LowIncl, highIncl && iv.HighIncl
	}
	low.End()
	high.End()
	b.StartDocField("indexBounds")
	w.doc("startKey", bsonx.Doc(low.Bytes()))
	b.Bool("startKeyInclusive", lowIncl)
	w.doc("endKey", bsonx.Doc(high.Bytes()))
	b.Bool("endKeyInclusive", highIncl)
	b.End()
}
