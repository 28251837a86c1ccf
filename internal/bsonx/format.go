package bsonx

import (
	"encoding/hex"
	"math"
	"strconv"
	"strings"
)

// FormatShell returns a value in the notation of MongoDB's messages, explain bounds and logs:
//
//	{ a: 1, b: "x", c: [ 1, 2.0 ], d: ObjectId('000000000000000000000001'), e: new Date(0) }
//
// It is for people: it does not tell int from long, and cannot be parsed.
func FormatShell(v Value) string { return string(AppendShell(nil, v)) }

// AppendShell appends what FormatShell returns.
func AppendShell(dst []byte, v Value) []byte {
	switch v.Type {
	case TypeDocument:
		return appendShellDoc(dst, v.Doc())
	case TypeArray:
		return appendShellArray(dst, v.Doc())
	case TypeString, TypeSymbol:
		return appendShellString(dst, v.StrBytes())
	case TypeDouble:
		return appendShellDouble(dst, v.Double())
	case TypeInt32:
		return strconv.AppendInt(dst, int64(v.Int32()), 10)
	case TypeInt64:
		return strconv.AppendInt(dst, v.Int64(), 10)
	case TypeDecimal128:
		return append(dst, FormatDecimal(v)...)
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
		return appendShellOther(dst, v)
	}
}

func appendShellOther(dst []byte, v Value) []byte {
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
		return append(dst, "/"+pattern+"/"+options...)
	case TypeCode:
		return append(dst, v.StrBytes()...)
	case TypeCodeWithScope:
		code, scope := v.CodeWithScope()
		dst = append(dst, "CodeWScope( "+code+", "...)
		return append(appendShellDoc(dst, scope), ')')
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

func appendShellDoc(dst []byte, d Doc) []byte {
	if d.IsEmpty() {
		return append(dst, "{}"...)
	}
	separator := "{ "
	for it := d.Iter(); it.Next(); separator = ", " {
		dst = append(dst, separator...)
		dst = append(dst, it.Key()...)
		dst = append(dst, ": "...)
		dst = AppendShell(dst, it.Value())
	}
	return append(dst, " }"...)
}

func appendShellArray(dst []byte, d Doc) []byte {
	if d.IsEmpty() {
		return append(dst, "[]"...)
	}
	separator := "[ "
	for it := d.Iter(); it.Next(); separator = ", " {
		dst = append(dst, separator...)
		dst = AppendShell(dst, it.Value())
	}
	return append(dst, " ]"...)
}

func appendShellString(dst, s []byte) []byte {
	dst = append(dst, '"')
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c == '\n':
			dst = append(dst, `\n`...)
		case c == '\t':
			dst = append(dst, `\t`...)
		case c == '\r':
			dst = append(dst, `\r`...)
		case c < ' ':
			const digits = "0123456789abcdef"
			dst = append(dst, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, '"')
}

// appendShellDouble marks doubles by a point: 1.0, inf.0, nan.0, 1e+100.
func appendShellDouble(dst []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, "nan.0"...)
	case math.IsInf(f, 1):
		return append(dst, "inf.0"...)
	case math.IsInf(f, -1):
		return append(dst, "-inf.0"...)
	}
	start := len(dst)
	dst = strconv.AppendFloat(dst, f, 'g', 16, 64)
	if !strings.ContainsAny(string(dst[start:]), ".e") {
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
	dst = append(dst, "BinData("...)
	dst = strconv.AppendUint(dst, uint64(subtype), 10)
	dst = append(dst, ", "...)
	dst = append(dst, strings.ToUpper(hex.EncodeToString(data))...)
	return append(dst, ')')
}
