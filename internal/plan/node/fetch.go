package node

import (
	"strconv"

	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/plan/query"
)

// Fetch reads the records of its input's rows and yields those that match Filter.
type Fetch struct {
	In     Node
	Filter filter.Node // nil means all
}

func (*Fetch) stage() string           { return "FETCH" }
func (n *Fetch) input(i int) Node      { return sole(n.In, i) }
func (n *Fetch) residual() filter.Node { return n.Filter }
func (*Fetch) reads() reading          { return reading{} }

// sign appends the kinds and paths of the residual conjuncts, which distinguishes two scans of a
// multikey index.
func (n *Fetch) sign(dst []byte) []byte {
	if n.Filter == nil {
		return dst
	}
	var room [64]byte
	return strconv.AppendQuote(dst, string(appendLeft(room[:0], n.Filter)))
}

// appendLeft appends the kind and the path of each conjunct of a residual filter.
func appendLeft(dst []byte, n filter.Node) []byte {
	if and, ok := n.(*filter.And); ok {
		for _, child := range and.Children {
			dst = appendLeft(dst, child)
		}
		return dst
	}
	if query.IsTrue(n) {
		return dst
	}
	dst = strconv.AppendInt(dst, int64(n.Kind()), 10)
	dst = append(dst, pathOf(n)...)
	return append(dst, ' ')
}

func (n *Fetch) build(b Builder) exec.Node {
	return exec.NewFetch(b.Env, b.Q.Coll, b.Build(n.In), b.predicate(n.Filter))
}

func (*Fetch) again(b Builder, in exec.Node) exec.Node { return b.fetchAgain(in) }

func (n *Fetch) describe(w *Writer, run exec.Node) {
	w.begin(n, run)
	if run != nil {
		w.B.Int32("docsExamined", int32(run.Stats().DocsExamined))
		w.B.Int32("alreadyHasObj", int32(run.Stats().AlreadyDoc))
	}
	w.input(n, run)
}

// pathOf returns the path of a predicate that can bound an index, or "".
func pathOf(n filter.Node) string {
	if not, ok := n.(*filter.Not); ok {
		return pathOf(not.Child)
	}
	if leaf, ok := n.(filter.Leaf); ok {
		return leaf.FieldPath().String()
	}
	return ""
}
