package node

import (
	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/filter"
)

// Skip drops the first Count rows.
type Skip struct {
	In    Node
	Count int64
}

func (*Skip) stage() string          { return "SKIP" }
func (n *Skip) input(i int) Node     { return sole(n.In, i) }
func (*Skip) residual() filter.Node  { return nil }
func (*Skip) reads() reading         { return reading{} }
func (*Skip) sign(dst []byte) []byte { return dst }

func (n *Skip) build(b Builder) exec.Node { return exec.NewSkip(b.Env, b.Build(n.In), n.Count) }

func (n *Skip) again(b Builder, in exec.Node) exec.Node { return n.In.again(b, in) }

func (n *Skip) describe(w *Writer, run exec.Node) {
	w.begin(n, run)
	w.B.Int64("skipAmount", n.Count)
	w.input(n, run)
}
