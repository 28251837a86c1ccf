package filter

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/memory"
)

// Serialize returns the filter document of a tree, in the form of parsedQuery in explain: every
// operator is explicit.
func Serialize(n Node) bsonx.Doc {
	doc, _ := SerializeWithin(context.Background(), n)
	return doc
}

// SerializeWithin is Serialize for a tree that may be large. It fails if the operation was
// interrupted or its memory limit is exceeded.
func SerializeWithin(ctx context.Context, n Node) (bsonx.Doc, error) {
	return serialize(ctx, n, serializer{limit: maxSerialized})
}

// SerializeShort is Serialize for a message that shows only the beginning. It stops writing bit
// positions after about limit bytes.
func SerializeShort(n Node, limit int) bsonx.Doc {
	doc, _ := serialize(context.Background(), n, serializer{limit: limit})
	return doc
}

// identity returns a compact serialised form for comparing trees. Trees with the same form are
// equal.
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

// maxSerialized is the size in bytes from which a serialised tree is too large for any reply. Parts
// that grow when they are serialised, such as bit masks, end there.
const maxSerialized = limits.DocumentBytes

// serializer writes a tree. It stops after an interrupt of its operation.
type serializer struct {
	*bsonx.Builder
	ctx   context.Context
	meter interrupt.Meter
	ended error
	limit int // the size in bytes above which the caller does not read the output
	// compact writes large bit masks without expanding them.
	compact bool
}

// full reports whether the limit is exceeded. Further output would not be read.
func (s *serializer) full() bool { return s.Len() > s.limit }

// reserve grows the buffer for about n bytes, up to the limit. It returns false if the memory limit
// of the operation is exceeded.
func (s *serializer) reserve(n int) bool {
	if n = min(n, s.limit-s.Len()); n > 0 && s.ended == nil {
		if s.ended = memory.Of(s.ctx).Value(int64(n)); s.ended == nil {
			s.Grow(n)
		}
	}
	return s.ended == nil
}

// stopped adds work to the meter, and reports whether the operation was interrupted.
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

// element formats an operator for a message: $size: -1.
func (f field) element() string { return f.name + ": " + bsonx.FormatShell(f.value) }
