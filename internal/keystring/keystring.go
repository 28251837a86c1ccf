package keystring

import (
	"bytes"
	"encoding/binary"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

// Append appends the encoding of a value. A missing value is encoded as null.
func Append(dst []byte, v bsonx.Value, desc bool) []byte {
	return AppendTyped(dst, nil, v, desc)
}

// AppendTyped is Append, and adds the type information that the encoding loses to bits. bits may be
// nil.
func AppendTyped(dst []byte, bits *TypeBits, v bsonx.Value, desc bool) []byte {
	start := len(dst)
	dst = appendValue(dst, bits, v)
	if desc {
		invert(dst[start:])
	}
	return dst
}

func appendValue(dst []byte, bits *TypeBits, v bsonx.Value) []byte {
	switch v.Type {
	case bsonx.TypeInt32:
		return appendInt(dst, bits, int64(v.Int32()), kindDefault)
	case bsonx.TypeInt64:
		return appendInt(dst, bits, v.Int64(), kindInt64)
	case bsonx.TypeDouble:
		return appendDouble(dst, bits, v.Double())
	case bsonx.TypeDecimal128:
		return appendDecimal(dst, bits, v)
	case bsonx.TypeBool:
		if v.Bool() {
			return append(dst, typeTrue)
		}
		return append(dst, typeFalse)
	default:
		return appendPayload(append(dst, typeByte(v.Type)), bits, v)
	}
}

// appendPayload appends the payload of a value that is neither a number nor a bool.
func appendPayload(dst []byte, bits *TypeBits, v bsonx.Value) []byte {
	switch v.Type {
	case bsonx.TypeString, bsonx.TypeSymbol:
		bits.noteString(v.Type)
		return appendText(dst, v.StrBytes())
	case bsonx.TypeObjectID:
		return append(dst, v.Data...)
	case bsonx.TypeDocument:
		return appendObject(dst, bits, v.Doc())
	case bsonx.TypeArray:
		for it := v.Doc().Iter(); it.Next(); {
			dst = appendValue(dst, bits, it.Value())
		}
		return append(dst, 0)
	case bsonx.TypeBinary:
		subtype, data := v.Binary()
		dst = append(appendLength(dst, len(data)), subtype)
		return append(dst, data...)
	case bsonx.TypeDate:
		return binary.BigEndian.AppendUint64(dst, uint64(v.Int64())^1<<63)
	case bsonx.TypeTimestamp:
		return binary.BigEndian.AppendUint64(dst, uint64(v.Int64()))
	case bsonx.TypeRegex:
		return append(dst, v.Data...)
	case bsonx.TypeDBPointer:
		return append(appendLength(dst, len(v.Data)), v.Data...)
	case bsonx.TypeCode:
		return appendText(dst, v.StrBytes())
	case bsonx.TypeCodeWithScope:
		code, scope := v.CodeWithScope()
		return appendObject(appendText(dst, []byte(code)), bits, scope)
	default:
		return dst
	}
}

func appendObject(dst []byte, bits *TypeBits, d bsonx.Doc) []byte {
	for it := d.Iter(); it.Next(); {
		v := it.Value()
		class, explicit := fieldClass(v.Type)
		dst = append(dst, class)
		dst = append(dst, it.Key()...)
		dst = append(dst, 0)
		if explicit {
			dst = appendValue(dst, bits, v)
		} else {
			dst = appendPayload(dst, bits, v)
		}
	}
	return append(dst, 0)
}

// appendText escapes the bytes 00 and 01, so that 00 can end the text. Both are rare in text.
func appendText(dst, s []byte) []byte {
	if bytes.IndexByte(s, 0) < 0 && bytes.IndexByte(s, 1) < 0 {
		dst = append(dst, s...)
		return append(dst, 0)
	}
	for _, c := range s {
		if c <= 1 {
			dst = append(dst, 1)
			c++
		}
		dst = append(dst, c)
	}
	return append(dst, 0)
}

func appendLength(dst []byte, n int) []byte {
	if n < 0xFF {
		return append(dst, byte(n))
	}
	return binary.BigEndian.AppendUint32(append(dst, 0xFF), uint32(n))
}

// invert flips all bits, a word at a time.
func invert(b []byte) {
	for len(b) >= 8 {
		binary.NativeEndian.PutUint64(b, ^binary.NativeEndian.Uint64(b))
		b = b[8:]
	}
	for i := range b {
		b[i] = ^b[i]
	}
}
