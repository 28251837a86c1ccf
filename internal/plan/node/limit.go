package node

import (
	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/filter"
)

// Limit yields the first Count rows.
type Limit struct {
	In    Node
	Count int64
}

func (*Limit) stage() string          { return "LIMIT" }
func (n *Limit) input(i int) Node     { return sole(n.In, i) }
func (*Limit) residual() filter.Node  { return nil }
func (*Limit) reads() reading         { return reading{} }
func (*Limit) sign(dst []byte) []byte { return dst }

func (n *Limit) build(b Builder) exec.Node { return exec.NewLimit(b.Env, b.Build(n.In), n.Count) }

func (n *Limit) again(b Builder, in exec.Node) exec.Node { return n.In.again(b, in) }

func (n *Limit) describe(w *Writer, run exec.Node) {
	w.begin(n, run)
	w.B.Int64("limitAmount", n.Count)
	w.input(n, run)
}
