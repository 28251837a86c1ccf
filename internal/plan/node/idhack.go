package node

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/filter"
)

// IDHack reads one record by its _id.
type IDHack struct{ ID bsonx.Value }

func (*IDHack) stage() string          { return "IDHACK" }
func (*IDHack) input(int) Node         { return nil }
func (*IDHack) residual() filter.Node  { return nil }
func (*IDHack) reads() reading         { return reading{id: true} }
func (*IDHack) sign(dst []byte) []byte { return dst }

func (n *IDHack) build(b Builder) exec.Node { return exec.NewIDHack(b.Env, b.Q.Coll, n.ID) }

func (*IDHack) again(b Builder, in exec.Node) exec.Node { return b.fetchAgain(in) }

func (n *IDHack) describe(w *Writer, run exec.Node) {
	w.begin(n, run)
	if run != nil {
		w.B.Int32("keysExamined", int32(run.Stats().KeysExamined))
		w.B.Int32("docsExamined", int32(run.Stats().DocsExamined))
	}
}
