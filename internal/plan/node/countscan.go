package node

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/plan/bounds"
)

// CountScan counts the entries of one range of an index.
type CountScan struct{ Scan *IndexScan }

func (*CountScan) stage() string          { return "COUNT_SCAN" }
func (*CountScan) input(int) Node         { return nil }
func (*CountScan) residual() filter.Node  { return nil }
func (n *CountScan) reads() reading       { return reading{scan: n.Scan} }
func (*CountScan) sign(dst []byte) []byte { return dst }

func (n *CountScan) build(b Builder) exec.Node {
	bounds := n.Scan.keyBounds(b.Shared)
	if bounds == nil {
		return exec.NewEmptyScan(b.Env)
	}
	return exec.NewCountScan(b.Env, b.Q.Coll, n.Scan.Index.Stored, bounds, n.Scan.Dedup)
}

func (*CountScan) again(b Builder, in exec.Node) exec.Node { return b.fetchAgain(in) }

// describe writes the range as its two ends.
func (n *CountScan) describe(w *Writer, run exec.Node) {
	w.begin(n, run)
	x, b := n.Scan.Index, w.B
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
	for i, ivs := range n.Scan.Bounds {
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
	w.Doc("startKey", bsonx.Doc(low.Bytes()))
	b.Bool("startKeyInclusive", lowIncl)
	w.Doc("endKey", bsonx.Doc(high.Bytes()))
	b.Bool("endKeyInclusive", highIncl)
	b.End()
}
