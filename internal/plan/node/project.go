package node

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/plan/query"
	"github.com/sheafdb/sheaf/internal/projection"
)

// Project shapes documents. If Covered is set, it builds them from index entries. If Union is true,
// the entries come from several scans, or a branch has already read the documents.
type Project struct {
	In         Node
	Projection *projection.Projection
	Spec       bsonx.Doc
	Covered    *IndexScan
	Union      bool
}

func (n *Project) stage() string {
	switch {
	case n.Union, !n.Projection.IsSimple():
		return "PROJECTION_DEFAULT"
	case n.Covered != nil:
		return "PROJECTION_COVERED"
	default:
		return "PROJECTION_SIMPLE"
	}
}

func (n *Project) input(i int) Node     { return sole(n.In, i) }
func (*Project) residual() filter.Node  { return nil }
func (*Project) reads() reading         { return reading{} }
func (*Project) sign(dst []byte) []byte { return dst }

func (n *Project) build(b Builder) exec.Node {
	if s, ok := n.In.(*Sort); ok && n.Projection.IsSimple() {
		// The sort need not keep fields that are projected away.
		sort := s.buildSort(b)
		sort.Keep(projector(b.Q, n.Projection))
		return exec.NewPass(b.Env, sort)
	}
	return n.over(b, b.Build(n.In))
}

// over builds a projection that is not part of a sort.
func (n *Project) over(b Builder, in exec.Node) exec.Node {
	apply := projector(b.Q, n.Projection)
	if n.Covered == nil {
		return exec.NewProject(b.Env, in, apply)
	}
	paths, _ := n.Projection.Reads()
	var nested exec.Projector
	if !n.Projection.IsSimple() {
		nested = apply
	}
	return exec.NewProjectCovered(b.Env, in, paths, nested, apply)
}

func projector(q *query.Query, p *projection.Projection) exec.Projector {
	var apply exec.Projector = func(dst []byte, row *exec.Row) ([]byte, error) {
		return p.Apply(dst, row.Doc, nil)
	}
	if len(p.MetaKinds()) > 0 {
		apply = query.NewMetaProjector(q, p)
	}
	if computed, _ := p.Computed(); len(computed) == 0 {
		return apply
	}
	return func(dst []byte, row *exec.Row) ([]byte, error) {
		out, err := apply(dst, row)
		if err != nil {
			return nil, err
		}
		return out, bsonx.Doc(out[len(dst):]).CheckResult()
	}
}

func (n *Project) again(b Builder, in exec.Node) exec.Node {
	if n.Covered != nil {
		return n.over(b, in)
	}
	return n.over(b, n.In.again(b, in))
}

func (n *Project) describe(w *Writer, run exec.Node) {
	w.begin(n, run)
	w.Doc("transformBy", n.Spec)
	w.input(n, run)
}
