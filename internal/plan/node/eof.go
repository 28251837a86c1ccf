package node

import (
	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/filter"
)

// EOF yields no rows. Why is the reason.
type EOF struct{ Why string }

// The reasons of an EOF, with the names that explain prints.
const (
	NoNamespace = "nonExistentNamespace"
	AlwaysFalse = "predicateEvalsToFalse"
)

func (*EOF) stage() string          { return "EOF" }
func (*EOF) input(int) Node         { return nil }
func (*EOF) residual() filter.Node  { return nil }
func (*EOF) reads() reading         { return reading{} }
func (*EOF) sign(dst []byte) []byte { return dst }

func (*EOF) build(b Builder) exec.Node { return exec.NewEOF(b.Env) }

func (*EOF) again(b Builder, in exec.Node) exec.Node { return b.fetchAgain(in) }

func (n *EOF) describe(w *Writer, run exec.Node) {
	w.begin(n, run)
	w.B.String("type", n.Why)
}
