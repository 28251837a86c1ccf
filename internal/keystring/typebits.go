package keystring

import (
	"encoding/binary"
	"errors"
	"math"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

// typeKind is the type of a number or a string if it is not the default type of its encoding.
type typeKind byte

// The kinds are stored on disk. The default type of a string is string. The default type of a whole
// number is int32, or int64 if it does not fit. The default type of any other number is double.
// -2^63 counts as a whole number, larger magnitudes do not.
const (
	kindDefault    typeKind = 0
	kindInt64      typeKind = 1
	kindDouble     typeKind = 2
	kindNegZero    typeKind = 3 // the double -0.0
	kindDecimal    typeKind = 4 // followed by 2 bytes: sign bit, exponent + 6176
	kindSymbol     typeKind = 5
	kindRawDouble  typeKind = 6 // followed by its 8 bytes: a NaN with unusual bits
	kindRawDecimal typeKind = 7 // followed by its 16 bytes: NaN, infinity, or a coefficient that is too large
)

const (
	kindMask = 7
	gapShift = 3
	// maxGap in the upper bits of an entry means that the gap, less maxGap, follows as a varint.
	maxGap = 31
)

// TypeBits collects the type information that encodings lose. Its bytes list the numbers and
// strings that do not have the default type. Each entry is the number of values since the previous
// entry, and the kind. The bytes are empty for the most frequent values: all int32, all int64
// outside the range of int32, doubles with a fraction, and strings.
//
// The zero value is ready to use.
type TypeBits struct {
	buf []byte
	gap int
}

// Reset empties t but keeps the memory.
func (t *TypeBits) Reset() { t.buf, t.gap = t.buf[:0], 0 }

// Bytes returns the encoded bits; they are valid until the next change.
func (t *TypeBits) Bytes() []byte { return t.buf }

// note adds the kind of the next value.
func (t *TypeBits) note(kind typeKind) {
	if kind == kindDefault {
		t.gap++
		return
	}
	if t.gap < maxGap {
		t.buf = append(t.buf, byte(t.gap)<<gapShift|byte(kind))
	} else {
		t.buf = append(t.buf, maxGap<<gapShift|byte(kind))
		t.buf = binary.AppendUvarint(t.buf, uint64(t.gap-maxGap))
	}
	t.gap = 0
}

func (t *TypeBits) noteString(typ bsonx.Type) {
	if t == nil {
		return
	}
	if typ == bsonx.TypeSymbol {
		t.note(kindSymbol)
		return
	}
	t.note(kindDefault)
}

func (t *TypeBits) noteDouble(f float64) {
	switch raw := math.Float64bits(f); {
	case f != f:
		if raw == quietNaN {
			t.note(kindDefault)
			return
		}
		t.note(kindRawDouble)
		t.buf = binary.LittleEndian.AppendUint64(t.buf, raw)
	case raw == 1<<63:
		t.note(kindNegZero)
	case f == math.Trunc(f) && f < 1<<63 && f >= -1<<63:
		t.note(kindDouble)
	default:
		t.note(kindDefault)
	}
}

func (t *TypeBits) noteDecimal(v bsonx.Value, d bsonx.Decimal) {
	hi, lo := v.Decimal128()
	if h, l := d.Encode(); d.Kind != bsonx.DecimalFinite || h != hi || l != lo {
		t.note(kindRawDecimal)
		t.buf = append(t.buf, v.Data...)
		return
	}
	t.note(kindDecimal)
	exp := uint16(d.Exp - bsonx.MinDecimalExp)
	if d.Neg {
		exp |= 1 << 15
	}
	t.buf = binary.BigEndian.AppendUint16(t.buf, exp)
}

// quietNaN is the NaN that processors produce and drivers send.
const quietNaN = 0x7FF8000000000000

var errTypeBits = errors.New("keystring: malformed type bits")

// TypeBitsReader reads type bits in the order in which they were written. The zero value reads
// empty bits.
type TypeBitsReader struct {
	rest   []byte
	gap    uint64
	kind   typeKind
	loaded bool
}

// NewTypeBitsReader returns a reader of TypeBits.Bytes.
func NewTypeBitsReader(b []byte) TypeBitsReader { return TypeBitsReader{rest: b} }

// next returns the kind of the next number or string.
func (r *TypeBitsReader) next() (typeKind, error) {
	if !r.loaded && len(r.rest) == 0 {
		return kindDefault, nil
	}
	if !r.loaded {
		r.kind, r.gap, r.loaded = typeKind(r.rest[0]&kindMask), uint64(r.rest[0]>>gapShift), true
		r.rest = r.rest[1:]
		if r.gap == maxGap {
			more, n := binary.Uvarint(r.rest)
			if n <= 0 || more > math.MaxInt32 {
				return 0, errTypeBits
			}
			r.gap += more
			r.rest = r.rest[n:]
		}
	}
	if r.gap > 0 {
		r.gap--
		return kindDefault, nil
	}
	r.loaded = false
	return r.kind, nil
}

// take returns the next n bytes that follow a kind.
func (r *TypeBitsReader) take(n int) ([]byte, error) {
	if len(r.rest) < n {
		return nil, errTypeBits
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b, nil
}

// JoinTypeBits appends two sets of type bits as one value: the bits of an index entry's fields and
// the bits of its _id. The value is empty if both sets are empty.
func JoinTypeBits(dst, fields, id []byte) []byte {
	if len(fields) == 0 && len(id) == 0 {
		return dst
	}
	dst = binary.AppendUvarint(dst, uint64(len(fields)))
	dst = append(dst, fields...)
	return append(dst, id...)
}

// SplitTypeBits returns the two sets that JoinTypeBits joined.
func SplitTypeBits(b []byte) (fields, id []byte, err error) {
	if len(b) == 0 {
		return nil, nil, nil
	}
	size, n := binary.Uvarint(b)
	if n <= 0 || size > uint64(len(b)-n) {
		return nil, nil, errTypeBits
	}
	b = b[n:]
	return b[:size], b[size:], nil
}
