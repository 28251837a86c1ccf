package plan

import (
	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/filter"
)

// or gives the rows of several inputs, each record once.
type or struct{ in []node }

func (*or) stage() string          { return "OR" }
func (n *or) input(i int) node     { return nth(n.in, i) }
func (*or) residual() filter.Node  { return nil }
func (*or) reads() reading         { return reading{} }
func (*or) sign(dst []byte) []byte { return dst }

func (n *or) build(b builder) exec.Node { return exec.NewOr(b.env, b.buildAll(n.in)) }

func (*or) again(b builder, in exec.Node) exec.Node { return b.fetchAgain(in) }

func (n *or) describe(w *stageWriter, run exec.Node) {
	w.begin(n, run)
	w.duplicates(run)
	w.inputs(n, run)
}
