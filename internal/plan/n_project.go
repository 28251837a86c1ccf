package plan

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/plan/query"
	"github.com/sheafdb/sheaf/internal/projection"
)

// project shapes documents; covered makes them from index entries, where union is true from those of several scans or
// from documents that a branch has read.
type project struct {
	in      node
	p       *projection.Projection
	spec    bsonx.Doc
	covered *indexScan
	union   bool
}

func (n *project) stage() string {
	switch {
	case n.union, !n.p.IsSimple():
		return "PROJECTION_DEFAULT"
	case n.covered != nil:
		return "PROJECTION_COVERED"
	default:
		return "PROJECTION_SIMPLE"
	}
}

func (n *project) input(i int) node     { return sole(n.in, i) }
func (*project) residual() filter.Node  { return nil }
func (*project) reads() reading         { return reading{} }
func (*project) sign(dst []byte) []byte { return dst }

func (n *project) build(b builder) exec.Node {
	if s, ok := n.in.(*sortNode); ok && n.p.IsSimple() {
		// The sort need not keep what will not be asked for.
		sort := s.buildSort(b)
		sort.Keep(projector(b.q, n.p))
		return exec.NewPass(b.env, sort)
	}
	return n.over(b, b.build(n.in))
}

// over builds a projection that is not part of a sort.
func (n *project) over(b builder, in exec.Node) exec.Node {
	apply := projector(b.q, n.p)
	if n.covered == nil {
		return exec.NewProject(b.env, in, apply)
	}
	paths, _ := n.p.Reads()
	var nested exec.Projector
	if !n.p.IsSimple() {
		nested = apply
	}
	return exec.NewProjectCovered(b.env, in, paths, nested, apply)
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

func (n *project) again(b builder, in exec.Node) exec.Node {
	if n.covered != nil {
		return n.over(b, in)
	}
	return n.over(b, n.in.again(b, in))
}

func (n *project) describe(w *stageWriter, run exec.Node) {
	w.begin(n, run)
	w.doc("transformBy", n.spec)
	w.input(n, run)
}
