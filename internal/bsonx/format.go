package bsonx

import (
	"bytes"
	"encoding/hex"
	"math"
	"strconv"
)

// Limits of FormatShell. Longer strings, code and binary data are truncated. Documents and arrays
// below the largest depth are abbreviated.
const (
	shellMaxText   = 159
	shellCutText   = 150
	shellMaxCode   = 79
	shellCutCode   = 70
	shellMaxBinary = 80
	shellCutBinary = 70
	shellMaxDepth  = 100
)

// MaxShown is the largest length of the text of a document or array, in bytes. The rest is omitted.
const MaxShown = 256 << 10

// FormatShell formats a value like MongoDB's messages, explain bounds and logs:
//
//	{ a: 1, b: "x", c: [ 1, 2.0 ], d: ObjectId('000000000000000000000001'), e: new Date(0) }
//
// The text is for people: it does not distinguish int from long, does not escape, and truncates
// long values.
func FormatShell(v Value) string { return string(AppendShell(nil, v)) }

// AppendShell appends the text of FormatShell.
func AppendShell(dst []byte, v Value) []byte { return appendShell(dst, v, 0) }

func appendShell(dst []byte, v Value, depth int) []byte {
	switch v.Type {
	case TypeDocument:
		return appendShellDoc(dst, v.Doc(), depth)
	case TypeArray:
		return appendShellArray(dst, v.Doc(), depth)
	case TypeString, TypeSymbol:
		dst = append(dst, '"')
		return append(appendShellText(dst, v.StrBytes(), shellMaxText, shellCutText), '"')
	case TypeDouble:
		return appendShellDouble(dst, v.Double())
	case TypeInt32:
		return strconv.AppendInt(dst, int64(v.Int32()), 10)
	case TypeInt64:
		return strconv.AppendInt(dst, v.Int64(), 10)
	case TypeDecimal128:
		return appendDecimal(dst, v)
	case TypeBool:
		return strconv.AppendBool(dst, v.Bool())
	case TypeDate:
		dst = append(dst, "new Date("...)
		dst = strconv.AppendInt(dst, v.Int64(), 10)
		return append(dst, ')')
	case TypeObjectID:
		dst = append(dst, "ObjectId('"...)
		dst = hex.AppendEncode(dst, v.Data)
		return append(dst, "')"...)
	case TypeTimestamp:
		t, i := v.Timestamp()
		dst = append(dst, "Timestamp("...)
		dst = strconv.AppendUint(dst, uint64(t), 10)
		dst = append(dst, ", "...)
		dst = strconv.AppendUint(dst, uint64(i), 10)
		return append(dst, ')')
	default:
		return appendShellOther(dst, v, depth)
	}
}

func appendShellOther(dst []byte, v Value, depth int) []byte {
	switch v.Type {
	case TypeMissing, TypeNull:
		return append(dst, "null"...)
	case TypeUndefined:
		return append(dst, "undefined"...)
	case TypeMinKey:
		return append(dst, "MinKey"...)
	case TypeMaxKey:
		return append(dst, "MaxKey"...)
	case TypeBinary:
		return appendShellBinary(dst, v)
	case TypeRegex:
		pattern, options := v.Regex()
		dst = appendShellText(append(dst, '/'), []byte(pattern), MaxShown, MaxShown)
		return append(append(dst, '/'), options...)
	case TypeCode:
		return appendShellText(dst, v.StrBytes(), shellMaxCode, shellCutCode)
	case TypeCodeWithScope:
		code, scope := v.CodeWithScope()
		dst = append(dst, "CodeWScope( "+code+", "...)
		return append(appendShellDoc(dst, scope, depth+1), ')')
	case TypeDBPointer:
		n := len(v.Data) - 12
		dst = append(dst, "DBRef('"...)
		dst = append(dst, v.Data[4:n-1]...)
		dst = append(dst, "',"...)
		return append(hex.AppendEncode(dst, v.Data[n:]), ')')
	default:
		return append(dst, '?')
	}
}

func appendShellText(dst, s []byte, limit, cut int) []byte {
	if len(s) <= limit {
		return append(dst, s...)
	}
	return append(append(dst, s[:cut]...), "..."...)
}

func appendShellDoc(dst []byte, d Doc, depth int) []byte {
	if d.IsEmpty() {
		return append(dst, "{}"...)
	}
	if depth > shellMaxDepth {
		return append(dst, "{ ... }"...)
	}
	separator := "{ "
	for it := d.Iter(); it.Next(); separator = ", " {
		if dst = append(dst, separator...); len(dst) > MaxShown {
			dst = append(dst, "..."...)
			break
		}
		dst = appendShellText(dst, it.Key(), MaxShown, MaxShown)
		dst = append(dst, ": "...)
		dst = appendShell(dst, it.Value(), depth+1)
	}
	return append(dst, " }"...)
}

func appendShellArray(dst []byte, d Doc, depth int) []byte {
	if d.IsEmpty() {
		return append(dst, "[]"...)
	}
	if depth > shellMaxDepth {
		return append(dst, "[ ... ]"...)
	}
	separator := "[ "
	for it := d.Iter(); it.Next(); separator = ", " {
		if dst = append(dst, separator...); len(dst) > MaxShown {
			dst = append(dst, "..."...)
			break
		}
		dst = appendShell(dst, it.Value(), depth+1)
	}
	return append(dst, " ]"...)
}

// appendShellDouble formats an integral double with a decimal point, as in 1.0. It adds nothing to
// infinities, NaN and numbers with an exponent.
func appendShellDouble(dst []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, "nan"...)
	case math.IsInf(f, 1):
		return append(dst, "inf"...)
	case math.IsInf(f, -1):
		return append(dst, "-inf"...)
	}
	start := len(dst)
	dst = strconv.AppendFloat(dst, f, 'g', 16, 64)
	if !bytes.ContainsAny(dst[start:], ".e") {
		dst = append(dst, ".0"...)
	}
	return dst
}

func appendShellBinary(dst []byte, v Value) []byte {
	subtype, data := v.Binary()
	if subtype == 4 && len(data) == 16 {
		dst = append(dst, `UUID("`...)
		for i, part := range [][]byte{data[:4], data[4:6], data[6:8], data[8:10], data[10:]} {
			if i > 0 {
				dst = append(dst, '-')
			}
			dst = hex.AppendEncode(dst, part)
		}
		return append(dst, `")`...)
	}
	if subtype == 2 && len(data) >= 4 {
		data = data[4:] // subtype 2 contains a second length
	}
	dst = append(dst, "BinData("...)
	dst = strconv.AppendUint(dst, uint64(subtype), 10)
	dst = append(dst, ", "...)
	end := ")"
	if len(data) > shellMaxBinary {
		data, end = data[:shellCutBinary], "...)"
	}
	dst = append(dst, bytes.ToUpper(hex.AppendEncode(nil, data))...)
	return append(dst, end...)
}
