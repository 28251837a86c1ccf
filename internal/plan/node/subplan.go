package node

import (
	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/filter"
)

// Subplan is the stage that explain prints above the plan of a filter that is a single $or.
type Subplan struct{ In Node }

func (*Subplan) stage() string          { return "SUBPLAN" }
func (n *Subplan) input(i int) Node     { return sole(n.In, i) }
func (*Subplan) residual() filter.Node  { return nil }
func (*Subplan) reads() reading         { return reading{} }
func (*Subplan) sign(dst []byte) []byte { return dst }

func (n *Subplan) build(b Builder) exec.Node { return exec.NewPass(b.Env, b.Build(n.In)) }

func (n *Subplan) again(b Builder, in exec.Node) exec.Node { return n.In.again(b, in) }

func (n *Subplan) describe(w *Writer, run exec.Node) {
	w.begin(n, run)
	w.input(n, run)
}
