package plan

import (
	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/filter"
)

// limit ends after n rows.
type limit struct {
	in node
	n  int64
}

func (*limit) stage() string          { return "LIMIT" }
func (n *limit) input(i int) node     { return sole(n.in, i) }
func (*limit) residual() filter.Node  { return nil }
func (*limit) reads() reading         { return reading{} }
func (*limit) sign(dst []byte) []byte { return dst }

func (n *limit) build(b builder) exec.Node { return exec.NewLimit(b.env, b.build(n.in), n.n) }

func (n *limit) again(b builder, in exec.Node) exec.Node { return n.in.again(b, in) }

func (n *limit) describe(w *stageWriter, run exec.Node) {
	w.begin(n, run)
	w.b.Int64("limitAmount", n.n)
	w.input(n, run)
}
