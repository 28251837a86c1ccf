package plan

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/filter"
)

// idHack reads one record by its _id.
type idHack struct{ id bsonx.Value }

func (*idHack) stage() string          { return "IDHACK" }
func (*idHack) input(int) node         { return nil }
func (*idHack) residual() filter.Node  { return nil }
func (*idHack) reads() reading         { return reading{id: true} }
func (*idHack) sign(dst []byte) []byte { return dst }

func (n *idHack) build(b builder) exec.Node { return exec.NewIDHack(b.env, b.q.Coll, n.id) }

func (*idHack) again(b builder, in exec.Node) exec.Node { return b.fetchAgain(in) }

func (n *idHack) describe(w *stageWriter, run exec.Node) {
	w.begin(n, run)
	if run != nil {
		w.b.Int32("keysExamined", int32(run.Stats().KeysExamined))
		w.b.Int32("docsExamined", int32(run.Stats().DocsExamined))
	}
}
