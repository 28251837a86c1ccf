package node

import (
	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/filter"
)

// FastCount answers a count without a filter with the stored number of records.
type FastCount struct{ Skip, Limit int64 }

func (*FastCount) stage() string          { return "RECORD_STORE_FAST_COUNT" }
func (*FastCount) input(int) Node         { return nil }
func (*FastCount) residual() filter.Node  { return nil }
func (*FastCount) reads() reading         { return reading{} }
func (*FastCount) sign(dst []byte) []byte { return dst }

func (n *FastCount) build(b Builder) exec.Node {
	return exec.NewFastCount(b.Env, b.Records, n.Skip, n.Limit)
}

func (*FastCount) again(b Builder, in exec.Node) exec.Node { return b.fetchAgain(in) }

func (n *FastCount) describe(w *Writer, run exec.Node) {
	w.begin(n, run)
	w.counted(run)
}
