package filter

import "github.com/sheafdb/sheaf/internal/bsonx"

var sizeFailure = &failure{
	no: "array length was not equal to given size", yes: "array length was equal to given size", whole: true,
	expected: []string{"array"},
}

// Size is $size: it matches an array with exactly this number of elements.
type Size struct {
	leaf
	Size int
}

// Kind returns KindSize.
func (*Size) Kind() Kind { return KindSize }

func (n *Size) matchDoc(doc bsonx.Doc, st *state) bool { return n.path.match(doc, Whole, n, st) }

func (n *Size) matchElem(v bsonx.Value, _ *state) bool {
	return v.Type == bsonx.TypeArray && v.Doc().Len() == n.Size
}

func (n *Size) serialize(b *serializer) { serializeLeaf(b, n) }

func (n *Size) serializeOperator(b *serializer) { b.Int32("$size", int32(n.Size)) }

func parseSize(_ *parser, f field) (Node, error) {
	size, err := nonNegativeInt32("$size", f.name, f.value)
	if err != nil {
		return nil, err
	}
	return &Size{newLeaf(f.path), size}, nil
}
