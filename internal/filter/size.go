package filter

import (
	"math"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// Size is $size: an array has exactly so many elements.
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

func (n *Size) serialize(b *bsonx.Builder) { serializeLeaf(b, n) }

func (n *Size) serializeOperator(b *bsonx.Builder) { b.Int32("$size", int32(n.Size)) }

func parseSize(_ *parser, f field) (Node, error) {
	size, ok := f.value.AsExactInt64()
	switch {
	case !ok:
		return nil, mongoerr.New(mongoerr.BadValue, "Failed to parse $size. Expected a number in: %s", f.element())
	case size < 0:
		return nil, mongoerr.New(mongoerr.BadValue, "Failed to parse $size. Expected a non-negative number in: %s", f.element())
	case size > math.MaxInt32:
		return nil, mongoerr.New(mongoerr.BadValue, "Failed to parse $size. Cannot represent as a 32-bit integer: %s", f.element())
	}
	return &Size{newLeaf(f.path), int(size)}, nil
}
