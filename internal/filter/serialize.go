package filter

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/interrupt"
)

// Serialize returns the filter document of a tree as explain prints it in parsedQuery: every operator spelled out.
func Serialize(n Node) bsonx.Doc {
	doc, _ := SerializeWithin(context.Background(), n)
	return doc
}

// SerializeWithin is Serialize for a tree that may be large. It fails where the operation ends.
func SerializeWithin(ctx context.Context, n Node) (bsonx.Doc, error) {
	b := &serializer{Builder: bsonx.NewBuilder(nil), ctx: ctx}
	b.StartDoc()
	n.serialize(b)
	b.End()
	return bsonx.Doc(b.Bytes()), b.ended
}

// serializer writes a tree, as far as its operation lets it.
type serializer struct {
	*bsonx.Builder
	ctx   context.Context
	meter interrupt.Meter
	ended error
}

// stopped counts work, and reports whether the operation has ended.
func (s *serializer) stopped(work int) bool {
	if s.ended == nil {
		s.ended = s.meter.Passed(s.ctx, work)
	}
	return s.ended != nil
}

func serializeLeaf(b *serializer, n Leaf) {
	b.StartDocField(n.FieldPath().String())
	n.serializeOperator(b)
	b.End()
}

// element writes an operator for a message: $size: -1.
func (f field) element() string { return f.name + ": " + bsonx.FormatShell(f.value) }
