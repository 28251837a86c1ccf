package node

import (
	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/filter"
)

// Or yields the rows of several inputs, and each record once.
type Or struct{ In []Node }

func (*Or) stage() string          { return "OR" }
func (n *Or) input(i int) Node     { return nth(n.In, i) }
func (*Or) residual() filter.Node  { return nil }
func (*Or) reads() reading         { return reading{} }
func (*Or) sign(dst []byte) []byte { return dst }

func (n *Or) build(b Builder) exec.Node { return exec.NewOr(b.Env, b.buildAll(n.In)) }

func (*Or) again(b Builder, in exec.Node) exec.Node { return b.fetchAgain(in) }

func (n *Or) describe(w *Writer, run exec.Node) {
	w.begin(n, run)
	w.duplicates(run)
	w.inputs(n, run)
}
