package plan

import (
	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/filter"
)

// fastCount answers a count without a filter by the stored number of records.
type fastCount struct{ skip, limit int64 }

func (*fastCount) stage() string          { return "RECORD_STORE_FAST_COUNT" }
func (*fastCount) input(int) node         { return nil }
func (*fastCount) residual() filter.Node  { return nil }
func (*fastCount) reads() reading         { return reading{} }
func (*fastCount) sign(dst []byte) []byte { return dst }

func (n *fastCount) build(b builder) exec.Node {
	return exec.NewFastCount(b.env, b.records, n.skip, n.limit)
}

func (*fastCount) again(b builder, in exec.Node) exec.Node { return b.fetchAgain(in) }

func (n *fastCount) describe(w *stageWriter, run exec.Node) {
	w.begin(n, run)
	w.counted(run)
}
