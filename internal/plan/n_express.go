package plan

import (
	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/plan/indexinfo"
)

// express is the name that explain has for a plan for at most one record by equality on an index. The plan below it
// runs.
type express struct {
	index *indexinfo.Index
	in    node
}

func (n *express) stage() string {
	if n.index.Clustered {
		return "EXPRESS_CLUSTERED_IXSCAN"
	}
	return "EXPRESS_IXSCAN"
}

func (n *express) input(i int) node     { return sole(n.in, i) }
func (*express) residual() filter.Node  { return nil }
func (*express) reads() reading         { return reading{} }
func (*express) sign(dst []byte) []byte { return dst }

func (n *express) build(b builder) exec.Node { return b.build(n.in) }

func (n *express) again(b builder, in exec.Node) exec.Node { return n.in.again(b, in) }

// describe writes one stage for the whole plan below.
func (n *express) describe(w *stageWriter, run exec.Node) {
	b := w.b
	b.String("stage", n.stage())
	if !n.index.Clustered {
		b.Doc("keyPattern", n.index.Key)
		b.String("indexName", n.index.Name)
	}
	walk(n.in, func(in node) {
		if p, ok := in.(*project); ok {
			w.doc("projection", p.spec)
			b.Bool("projectionCovered", p.covered != nil)
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
