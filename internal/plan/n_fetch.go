package plan

import (
	"strconv"

	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/plan/query"
)

// fetch reads the records of rows.
type fetch struct {
	in     node
	filter filter.Node // nil: all
}

func (*fetch) stage() string           { return "FETCH" }
func (n *fetch) input(i int) node      { return sole(n.in, i) }
func (n *fetch) residual() filter.Node { return n.filter }
func (*fetch) reads() reading          { return reading{} }

// sign names which conjuncts are left, to tell two scans of a multikey index apart.
func (n *fetch) sign(dst []byte) []byte {
	if n.filter == nil {
		return dst
	}
	var room [64]byte
	return strconv.AppendQuote(dst, string(appendLeft(room[:0], n.filter)))
}

// appendLeft names the conjuncts of a residual filter by kind and path.
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

func (n *fetch) build(b builder) exec.Node {
	return exec.NewFetch(b.env, b.q.Coll, b.build(n.in), b.predicate(n.filter))
}

func (*fetch) again(b builder, in exec.Node) exec.Node { return b.fetchAgain(in) }

func (n *fetch) describe(w *stageWriter, run exec.Node) {
	w.begin(n, run)
	if run != nil {
		w.b.Int32("docsExamined", int32(run.Stats().DocsExamined))
		w.b.Int32("alreadyHasObj", int32(run.Stats().AlreadyDoc))
	}
	w.input(n, run)
}

// pathOf returns the path of a predicate that bounds an index.
func pathOf(n filter.Node) string {
	switch n := n.(type) {
	case *filter.Not:
		return pathOf(n.Child)
	case filter.Leaf:
		return n.FieldPath().String()
	default:
		return ""
	}
}
