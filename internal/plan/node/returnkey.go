package node

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/expressions"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/plan/query"
	"github.com/sheafdb/sheaf/internal/projection"
)

// ReturnKey replaces documents by index keys, as the option returnKey demands.
type ReturnKey struct{ In Node }

func (*ReturnKey) stage() string          { return "RETURN_KEY" }
func (n *ReturnKey) input(i int) Node     { return sole(n.In, i) }
func (*ReturnKey) residual() filter.Node  { return nil }
func (*ReturnKey) reads() reading         { return reading{} }
func (*ReturnKey) sign(dst []byte) []byte { return dst }

// build makes a sort below keep the index keys in place of its documents.
func (n *ReturnKey) build(b Builder) exec.Node {
	in, skipped := n.In, int64(0)
	if s, ok := in.(*Skip); ok {
		in, skipped = s.In, s.Count
	}
	s, ok := in.(*Sort)
	if !ok {
		return exec.NewProject(b.Env, b.Build(n.In), returnedKey(b.Q))
	}
	sort := s.buildSort(b)
	sort.Keep(returnedKey(b.Q))
	if skipped > 0 {
		return exec.NewPass(b.Env, exec.NewSkip(b.Env, sort, skipped))
	}
	return exec.NewPass(b.Env, sort)
}

// returnedKey returns a projector that replaces documents by index keys. It applies only the sort
// keys of the query's projection.
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

func (n *ReturnKey) again(b Builder, in exec.Node) exec.Node {
	return exec.NewProject(b.Env, n.In.again(b, in), returnedKey(b.Q))
}

func (n *ReturnKey) describe(w *Writer, run exec.Node) {
	w.begin(n, run)
	w.input(n, run)
}
