package plan

import (
	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/filter"
)

// eof gives nothing.
type eof struct{ why string }

// The reasons of an EOF, as explain names them.
const (
	eofNoNamespace = "nonExistentNamespace"
	eofAlwaysFalse = "predicateEvalsToFalse"
)

func (*eof) stage() string          { return "EOF" }
func (*eof) input(int) node         { return nil }
func (*eof) residual() filter.Node  { return nil }
func (*eof) reads() reading         { return reading{} }
func (*eof) sign(dst []byte) []byte { return dst }

func (*eof) build(b builder) exec.Node { return exec.NewEOF(b.env) }

func (*eof) again(b builder, in exec.Node) exec.Node { return b.fetchAgain(in) }

func (n *eof) describe(w *stageWriter, run exec.Node) {
	w.begin(n, run)
	w.b.String("type", n.why)
}
