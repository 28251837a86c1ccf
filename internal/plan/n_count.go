package plan

import (
	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/filter"
)

// count counts the rows of its input.
type count struct {
	in          node
	skip, limit int64
}

func (*count) stage() string          { return "COUNT" }
func (n *count) input(i int) node     { return sole(n.in, i) }
func (*count) residual() filter.Node  { return nil }
func (*count) reads() reading         { return reading{} }
func (*count) sign(dst []byte) []byte { return dst }

func (n *count) build(b builder) exec.Node {
	return exec.NewCount(b.env, b.build(n.in), n.skip, n.limit)
}

func (*count) again(b builder, in exec.Node) exec.Node { return b.fetchAgain(in) }

func (n *count) describe(w *stageWriter, run exec.Node) {
	w.begin(n, run)
	w.counted(run)
	w.input(n, run)
}
