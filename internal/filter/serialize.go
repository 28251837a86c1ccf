package filter

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/memory"
)

// Serialize returns the filter document of a tree in the form of parsedQuery in explain: every
// operator is written out.
func Serialize(n Node) bsonx.Doc {
	doc, _ := SerializeWithin(context.Background(), n)
	return doc
}

// SerializeWithin is Serialize for a tree that may be large. It fails if the operation ends or may
// take no more memory.
func SerializeWithin(ctx context.Context, n Node) (bsonx.Doc, error) {
	return serialize(ctx, n, serializer{limit: maxSerialized})
}

// SerializeShort is Serialize for a message that shows only the beginning. The bits of a mask end
// after about limit bytes.
func SerializeShort(n Node, limit int) bsonx.Doc {
	doc, _ := serialize(context.Background(), n, serializer{limit: limit})
	return doc
}

// identity is Serialize for comparisons: trees with the same result are equal.
func identity(n Node) bsonx.Doc {
	doc, _ := serialize(context.Background(), n, serializer{limit: maxSerialized, compact: true})
	return doc
}

func serialize(ctx context.Context, n Node, b serializer) (bsonx.Doc, error) {
	b.Builder, b.ctx = bsonx.NewBuilder(nil), ctx
	b.StartDoc()
	n.serialize(&b)
	b.End()
	return bsonx.Doc(b.Bytes()), b.ended
}

// maxSerialized is the size after which a tree is too large for any reply: what grows by being
// written ends there.
const maxSerialized = limits.DocumentBytes

// serializer writes a tree until its operation ends.
type serializer struct {
	*bsonx.Builder
	ctx   context.Context
	meter interrupt.Meter
	ended error
	limit int // see full
	// compact writes large bit masks without expanding them.
	compact bool
}

// full reports whether the limit is exceeded, so that nobody reads further output.
func (s *serializer) full() bool { return s.Len() > s.limit }

// reserve makes room for about n bytes, up to the limit. It reports whether the operation may take
// the memory.
func (s *serializer) reserve(n int) bool {
	if n = min(n, s.limit-s.Len()); n > 0 && s.ended == nil {
		if s.ended = memory.Of(s.ctx).Value(int64(n)); s.ended == nil {
			s.Grow(n)
		}
	}
	return s.ended == nil
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
