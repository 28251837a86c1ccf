package filter

import (
	"context"
	"encoding/binary"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/interrupt"
)

// AppendShapeKey appends a key that is the same for all filters of the same shape: filters whose
// canonical trees differ only in values. The key contains all parts that decide whether an index
// can be used: the options and the anchor of a regular expression, null and regular expressions
// among the members of an $in, and a whole expression. It fails if the operation was interrupted.
func (f *Filter) AppendShapeKey(ctx context.Context, dst []byte) ([]byte, error) {
	s := shaper{ctx: ctx}
	dst = s.append(dst, f.Normalize().Root)
	if c := f.opts.Collation; c != nil {
		dst = append(dst, 0xFF)
		dst = append(dst, c.Spec()...)
	}
	return dst, s.ended
}

// shaper writes the shape of a tree. It stops after an interrupt of its operation.
type shaper struct {
	ctx   context.Context
	meter interrupt.Meter
	ended error
}

func (s *shaper) append(key []byte, n Node) []byte {
	if s.ended == nil {
		s.ended = s.meter.Passed(s.ctx, interrupt.Step)
	}
	if s.ended != nil {
		return key
	}
	key = append(key, byte(n.Kind()))
	if l, ok := n.(Leaf); ok {
		key = appendText(key, l.FieldPath().String())
	}
	switch n := n.(type) {
	case *Compare:
		key = append(key, shapeClass(n.Value))
	case *In:
		key = appendBool(key, n.hasNull)
		key = appendBool(key, len(n.Regexes) > 0)
	case *Regex:
		prefix, _ := n.Prefix()
		key = appendBool(key, prefix != "")
		key = appendText(key, n.Options)
	case *Geo:
		key = appendBool(key, n.Within)
		key = append(key, byte(n.Region.CRS()))
	case *GeoNear:
		key = append(key, byte(n.Center.CRS))
	case *Expr, *Where, *JSONSchema, *SampleRate:
		var doc bsonx.Doc
		doc, s.ended = SerializeWithin(s.ctx, n)
		key = append(key, doc...)
	case *Bits, *ElemMatchObject, *ElemMatchValue, *Exists, *Mod, *Size, *TypeOf:
	case *AlwaysFalse, *AlwaysTrue, *And, *Nor, *Not, *Or, *Text:
	}
	kids := children(n)
	key = binary.AppendUvarint(key, uint64(len(kids)))
	for _, child := range kids {
		key = s.append(key, child)
	}
	return key
}

// shapeClass returns a number that distinguishes operands for which an index is used in different
// ways.
func shapeClass(v bsonx.Value) byte {
	switch v.Type {
	case bsonx.TypeNull:
		return 1
	case bsonx.TypeArray:
		return 2
	case bsonx.TypeMinKey, bsonx.TypeMaxKey:
		return 3
	case bsonx.TypeString, bsonx.TypeSymbol, bsonx.TypeDocument:
		return 4 // types to which the collation applies
	default:
		return 0
	}
}

func appendText(key []byte, s string) []byte {
	key = binary.AppendUvarint(key, uint64(len(s)))
	return append(key, s...)
}

func appendBool(key []byte, b bool) []byte {
	if b {
		return append(key, 1)
	}
	return append(key, 0)
}
