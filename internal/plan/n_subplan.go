package plan

import (
	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/filter"
)

// subplan is explain's frame around the plan of a filter that is one $or.
type subplan struct{ in node }

func (*subplan) stage() string          { return "SUBPLAN" }
func (n *subplan) input(i int) node     { return sole(n.in, i) }
func (*subplan) residual() filter.Node  { return nil }
func (*subplan) reads() reading         { return reading{} }
func (*subplan) sign(dst []byte) []byte { return dst }

func (n *subplan) build(b builder) exec.Node { return exec.NewPass(b.env, b.build(n.in)) }

func (n *subplan) again(b builder, in exec.Node) exec.Node { return n.in.again(b, in) }

func (n *subplan) describe(w *stageWriter, run exec.Node) {
	w.begin(n, run)
	w.input(n, run)
}
