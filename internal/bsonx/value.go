package bsonx

import (
	"bytes"
	"encoding/binary"
	"math"
	"time"
)

// Value is a BSON value: its type and its encoded payload. It borrows the bytes of its document,
// and is valid as long as they do not change. The zero Value is Missing.
type Value struct {
	Type Type
	Data []byte
}

// IsMissing reports whether the value is absent.
func (v Value) IsMissing() bool { return v.Type == TypeMissing }

// IsNull reports whether the value is null or absent.
func (v Value) IsNull() bool { return v.Type == TypeNull || v.Type == TypeMissing }

// The methods from Doc to CodeWithScope require that the value has the right type. They do not
// check it.

// Doc returns an embedded document. For an array it returns the document with the keys "0", "1", ….
func (v Value) Doc() Doc { return Doc(v.Data) }

// Double returns a double.
func (v Value) Double() float64 { return math.Float64frombits(binary.LittleEndian.Uint64(v.Data)) }

// Int32 returns an int32.
func (v Value) Int32() int32 { return int32(binary.LittleEndian.Uint32(v.Data)) }

// Int64 returns an int64, or the milliseconds of a date.
func (v Value) Int64() int64 { return int64(binary.LittleEndian.Uint64(v.Data)) }

// Bool returns a bool.
func (v Value) Bool() bool { return v.Data[0] != 0 }

// Str returns a copy of the text of a string, symbol or JavaScript code.
func (v Value) Str() string { return string(v.StrBytes()) }

// StrBytes returns the text of a string, symbol or JavaScript code, without a copy.
func (v Value) StrBytes() []byte { return v.Data[4 : len(v.Data)-1] }

// Time returns a date as a UTC time.
func (v Value) Time() time.Time { return time.UnixMilli(v.Int64()).UTC() }

// Timestamp returns the seconds and the increment of a timestamp.
func (v Value) Timestamp() (t, i uint32) {
	return binary.LittleEndian.Uint32(v.Data[4:]), binary.LittleEndian.Uint32(v.Data)
}

// Binary returns the subtype and the data of a binary value. For the old subtype 2 the data begins
// with a second length.
func (v Value) Binary() (subtype byte, data []byte) { return v.Data[4], v.Data[5:] }

// ObjectID returns an ObjectId.
func (v Value) ObjectID() (id [12]byte) {
	copy(id[:], v.Data)
	return id
}

// Regex returns the pattern and the options of a regular expression.
func (v Value) Regex() (pattern, options string) {
	i := cstringEnd(v.Data)
	return string(v.Data[:i]), string(v.Data[i+1 : len(v.Data)-1])
}

// Decimal128 returns the high and low halves of a decimal.
func (v Value) Decimal128() (hi, lo uint64) {
	return binary.LittleEndian.Uint64(v.Data[8:]), binary.LittleEndian.Uint64(v.Data)
}

// CodeWithScope returns the code and scope of JavaScript with scope.
func (v Value) CodeWithScope() (code string, scope Doc) {
	n := int(binary.LittleEndian.Uint32(v.Data[4:]))
	return string(v.Data[8 : 8+n-1]), Doc(v.Data[8+n:])
}

// Identical reports whether two values have the same type and the same bytes.
func (v Value) Identical(other Value) bool {
	return v.Type == other.Type && bytes.Equal(v.Data, other.Data)
}

// Clone returns a copy of the value with its own bytes.
func (v Value) Clone() Value {
	return Value{v.Type, append([]byte(nil), v.Data...)}
}

// Missing represents an absent value.
var Missing = Value{}

// Values of the types without a payload.
var (
	Null      = Value{Type: TypeNull}
	Undefined = Value{Type: TypeUndefined}
	MinKey    = Value{Type: TypeMinKey}
	MaxKey    = Value{Type: TypeMaxKey}
	True      = Value{Type: TypeBool, Data: []byte{1}}
	False     = Value{Type: TypeBool, Data: []byte{0}}
)

// Double returns a double value.
func Double(f float64) Value {
	return Value{TypeDouble, binary.LittleEndian.AppendUint64(nil, math.Float64bits(f))}
}

// Int32 returns an int32 value.
func Int32(i int32) Value {
	return Value{TypeInt32, binary.LittleEndian.AppendUint32(nil, uint32(i))}
}

// Int64 returns an int64 value.
func Int64(i int64) Value {
	return Value{TypeInt64, binary.LittleEndian.AppendUint64(nil, uint64(i))}
}

// Date returns a date value from milliseconds since 1970.
func Date(millis int64) Value {
	return Value{TypeDate, binary.LittleEndian.AppendUint64(nil, uint64(millis))}
}

// Timestamp returns a timestamp value.
func Timestamp(t, i uint32) Value {
	b := binary.LittleEndian.AppendUint32(nil, i)
	return Value{TypeTimestamp, binary.LittleEndian.AppendUint32(b, t)}
}

// Decimal128 returns a decimal value from its two halves.
func Decimal128(hi, lo uint64) Value {
	b := binary.LittleEndian.AppendUint64(nil, lo)
	return Value{TypeDecimal128, binary.LittleEndian.AppendUint64(b, hi)}
}

// Bool returns a bool value.
func Bool(b bool) Value {
	if b {
		return True
	}
	return False
}

// String returns a string value.
func String(s string) Value {
	b := make([]byte, 0, len(s)+5)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(s)+1))
	b = append(b, s...)
	return Value{TypeString, append(b, 0)}
}

// ObjectID returns an ObjectId value.
func ObjectID(id [12]byte) Value { return Value{TypeObjectID, id[:]} }

// UUIDSubtype is the subtype of binary values that are UUIDs.
const UUIDSubtype = 4

// Binary returns a binary value.
func Binary(subtype byte, data []byte) Value {
	b := binary.LittleEndian.AppendUint32(nil, uint32(len(data)))
	b = append(b, subtype)
	return Value{TypeBinary, append(b, data...)}
}

// Regex returns a regular expression value.
func Regex(pattern, options string) Value {
	b := append([]byte(pattern), 0)
	b = append(b, options...)
	return Value{TypeRegex, append(b, 0)}
}

// Document returns a document value.
func Document(d Doc) Value { return Value{TypeDocument, d} }

// Array returns an array value; d is the document of its elements with keys "0", "1", ….
func Array(d Doc) Value { return Value{TypeArray, d} }

// AsInt64 converts a number to an int64, truncating toward zero. It returns false for other types,
// NaN and numbers out of range.
func (v Value) AsInt64() (int64, bool) {
	switch v.Type {
	case TypeInt32:
		return int64(v.Int32()), true
	case TypeInt64:
		return v.Int64(), true
	case TypeDouble:
		f := v.Double()
		if math.IsNaN(f) || f >= 1<<63 || f < -1<<63 {
			return 0, false
		}
		return int64(f), true
	case TypeDecimal128:
		return decimalToInt64(v.Decimal128())
	default:
		return 0, false
	}
}

// RoundInt64 is AsInt64 with MongoDB's rounding for arguments of commands: a double is truncated,
// but a decimal is rounded half to even.
func (v Value) RoundInt64() (int64, bool) {
	i, ok := v.AsInt64()
	if !ok || v.Type != TypeDecimal128 {
		return i, ok
	}
	d := v.Decimal()
	switch up := d.roundsUp(i%2 != 0); {
	case !up:
		return i, true
	case d.Neg:
		return i - 1, i > math.MinInt64
	default:
		return i + 1, i < math.MaxInt64
	}
}

// saturatingInt64 is RoundInt64, except that a number out of range becomes the nearest limit, and
// NaN and other types become 0.
func (v Value) saturatingInt64() int64 {
	if n, ok := v.RoundInt64(); ok {
		return n
	}
	switch f, _ := v.AsFloat64(); {
	case f > 0:
		return math.MaxInt64
	case f < 0:
		return math.MinInt64
	default:
		return 0
	}
}

// SaturatingInt32 is saturatingInt64 with the range of an int32.
func (v Value) SaturatingInt32() int32 {
	return int32(max(math.MinInt32, min(v.saturatingInt64(), math.MaxInt32)))
}

// AsExactInt64 is AsInt64, except that it returns false for numbers with a fraction.
func (v Value) AsExactInt64() (int64, bool) {
	switch v.Type {
	case TypeInt32:
		return int64(v.Int32()), true
	case TypeInt64:
		return v.Int64(), true
	default: // integers have no fraction
	}
	i, ok := v.AsInt64()
	if !ok {
		return 0, false
	}
	return i, CompareValues(v, Int64(i)) == 0
}

// AsFloat64 converts a number to the nearest double. It returns false for other types.
func (v Value) AsFloat64() (float64, bool) {
	switch v.Type {
	case TypeInt32:
		return float64(v.Int32()), true
	case TypeInt64:
		return float64(v.Int64()), true
	case TypeDouble:
		return v.Double(), true
	case TypeDecimal128:
		return decimalToFloat64(v.Decimal128()), true
	default:
		return 0, false
	}
}

// Truthy converts a value to a bool like MongoDB: missing, null, undefined, false and zero are
// false, everything else is true.
func (v Value) Truthy() bool {
	switch v.Type {
	case TypeMissing, TypeNull, TypeUndefined:
		return false
	case TypeBool:
		return v.Bool()
	case TypeInt32, TypeInt64, TypeDouble, TypeDecimal128:
		return CompareValues(v, zero) != 0
	default:
		return true
	}
}

var zero = Int32(0)
