package node

import (
	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/filter"
)

// Count counts the rows of its input.
type Count struct {
	In          Node
	Skip, Limit int64
}

func (*Count) stage() string          { return "COUNT" }
func (n *Count) input(i int) Node     { return sole(n.In, i) }
func (*Count) residual() filter.Node  { return nil }
func (*Count) reads() reading         { return reading{} }
func (*Count) sign(dst []byte) []byte { return dst }

func (n *Count) build(b Builder) exec.Node {
	return exec.NewCount(b.Env, b.Build(n.In), n.Skip, n.Limit)
}

func (*Count) again(b Builder, in exec.Node) exec.Node { return b.fetchAgain(in) }

func (n *Count) describe(w *Writer, run exec.Node) {
	w.begin(n, run)
	w.counted(run)
	w.input(n, run)
}
