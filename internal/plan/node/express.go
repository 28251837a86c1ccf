package node

import (
	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/plan/indexinfo"
)

// Express gives a plan the name that explain prints for finding at most one record by equality on
// an index. The plan below it runs.
type Express struct {
	Index *indexinfo.Index
	In    Node
}

func (n *Express) stage() string {
	if n.Index.Clustered {
		return "EXPRESS_CLUSTERED_IXSCAN"
	}
	return "EXPRESS_IXSCAN"
}

func (n *Express) input(i int) Node     { return sole(n.In, i) }
func (*Express) residual() filter.Node  { return nil }
func (*Express) reads() reading         { return reading{} }
func (*Express) sign(dst []byte) []byte { return dst }

func (n *Express) build(b Builder) exec.Node { return b.Build(n.In) }

func (n *Express) again(b Builder, in exec.Node) exec.Node { return n.In.again(b, in) }

// describe writes one stage for the whole plan below.
func (n *Express) describe(w *Writer, run exec.Node) {
	b := w.B
	b.String("stage", n.stage())
	if !n.Index.Clustered {
		b.Doc("keyPattern", n.Index.Key)
		b.String("indexName", n.Index.Name)
	}
	Walk(n.In, func(in Node) {
		if p, ok := in.(*Project); ok {
			w.Doc("projection", p.Spec)
			b.Bool("projectionCovered", p.Covered != nil)
		}
	})
	if run == nil {
		return
	}
	keys, docs := exec.Examined(run)
	b.Int32("nReturned", int32(run.Stats().Advanced))
	b.Int32("executionTimeMillisEstimate", int32(run.Stats().Elapsed.Milliseconds()))
	b.Int32("keysExamined", int32(keys))
	b.Int32("docsExamined", int32(docs))
}
