package plan

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/expressions"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/plan/query"
	"github.com/sheafdb/sheaf/internal/projection"
)

// returnKey replaces documents by index keys: the option returnKey.
type returnKey struct{ in node }

func (*returnKey) stage() string          { return "RETURN_KEY" }
func (n *returnKey) input(i int) node     { return sole(n.in, i) }
func (*returnKey) residual() filter.Node  { return nil }
func (*returnKey) reads() reading         { return reading{} }
func (*returnKey) sign(dst []byte) []byte { return dst }

// build lets a sort below keep the keys in the place of its documents: it keeps nothing else.
func (n *returnKey) build(b builder) exec.Node {
	in, skipped := n.in, int64(0)
	if s, ok := in.(*skip); ok {
		in, skipped = s.in, s.n
	}
	s, ok := in.(*sortNode)
	if !ok {
		return exec.NewProject(b.env, b.build(n.in), returnedKey(b.q))
	}
	sort := s.buildSort(b)
	sort.Keep(returnedKey(b.q))
	if skipped > 0 {
		return exec.NewPass(b.env, exec.NewSkip(b.env, sort, skipped))
	}
	return exec.NewPass(b.env, sort)
}

// returnedKey replaces documents by index keys. Of the projection it applies the sort keys only.
func returnedKey(q *query.Query) exec.Projector {
	key := exec.ReturnedKey()
	if !q.ReturnsSortKey() {
		return key
	}
	p, err := projection.Parse(sortKeyFields(q.ShownProjection()), projection.Options{Vars: expressions.Scope()})
	if err != nil {
		return func(dst []byte, _ *exec.Row) ([]byte, error) { return dst, err }
	}
	reader := query.NewMetaReader(q, p)
	var room []byte
	return func(dst []byte, row *exec.Row) ([]byte, error) {
		var err error
		if room, err = key(room[:0], row); err != nil {
			return dst, err
		}
		meta := new(projection.Meta)
		if err := reader.Read(meta, row); err != nil {
			return dst, err
		}
		return p.Apply(dst, room, meta)
	}
}

// sortKeyFields returns the fields of a projection that are sort keys.
func sortKeyFields(spec bsonx.Doc) bsonx.Doc {
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	for it := spec.Iter(); it.Next(); {
		v := it.Value()
		if v.Type != bsonx.TypeDocument {
			continue
		}
		if kind := v.Doc().Lookup("$meta"); kind.Type == bsonx.TypeString && kind.Str() == query.MetaSortKey {
			b.ValueBytes(it.Key(), v)
		}
	}
	b.End()
	return b.Bytes()
}

func (n *returnKey) again(b builder, in exec.Node) exec.Node {
	return exec.NewProject(b.env, n.in.again(b, in), returnedKey(b.q))
}

func (n *returnKey) describe(w *stageWriter, run exec.Node) {
	w.begin(n, run)
	w.input(n, run)
}
