package filter

import "github.com/sheafdb/sheaf/internal/bsonx"

var existsFailure = &failure{exists: true}

// Exists is {$exists: true}: the path has a value, which may be null. {$exists: false} is a Not of
// Exists.
type Exists struct{ leaf }

// newExists returns an Exists for the path.
func newExists(path string) *Exists { return &Exists{newLeaf(path)} }

// Kind returns KindExists.
func (*Exists) Kind() Kind { return KindExists }

func (n *Exists) matchDoc(doc bsonx.Doc, st *state) bool { return n.path.match(doc, Elements, n, st) }

func (n *Exists) matchElem(v bsonx.Value, _ *state) bool { return !v.IsMissing() }

func (n *Exists) serialize(b *serializer) { serializeLeaf(b, n) }

func (n *Exists) serializeOperator(b *serializer) { b.Bool("$exists", true) }

func parseExists(_ *parser, f field) (Node, error) {
	n := newExists(f.path)
	if f.value.Truthy() {
		return n, nil
	}
	return &Not{Child: n}, nil
}
