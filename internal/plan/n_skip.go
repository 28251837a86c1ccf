package plan

import (
	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/filter"
)

// skip drops the first n rows.
type skip struct {
	in node
	n  int64
}

func (*skip) stage() string          { return "SKIP" }
func (n *skip) input(i int) node     { return sole(n.in, i) }
func (*skip) residual() filter.Node  { return nil }
func (*skip) reads() reading         { return reading{} }
func (*skip) sign(dst []byte) []byte { return dst }

func (n *skip) build(b builder) exec.Node { return exec.NewSkip(b.env, b.build(n.in), n.n) }

func (n *skip) again(b builder, in exec.Node) exec.Node { return n.in.again(b, in) }

func (n *skip) describe(w *stageWriter, run exec.Node) {
	w.begin(n, run)
	w.b.Int64("skipAmount", n.n)
	w.input(n, run)
}
