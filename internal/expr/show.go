package expr

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/numeric"
)

// Show formats a computed value for an error message in MongoDB's style: {a: 1, b: [2, "x"]}. The
// text is cut at bsonx.MaxShown. Values from commands are formatted with bsonx.FormatShell instead.
func Show(v bsonx.Value) string { return string(appendShown(nil, v)) }

func appendShown(dst []byte, v bsonx.Value) []byte {
	switch v.Type {
	case bsonx.TypeMissing:
		return append(dst, "MISSING"...)
	case bsonx.TypeDocument:
		dst = append(dst, '{')
		for it, first := v.Doc().Iter(), true; it.Next(); first = false {
			if !first {
				dst = append(dst, ", "...)
			}
			if len(dst) > bsonx.MaxShown {
				dst = append(dst, "..."...)
				break
			}
			dst = append(appendText(dst, it.Key()), ": "...)
			dst = appendShown(dst, it.Value())
		}
		return append(dst, '}')
	case bsonx.TypeArray:
		dst = append(dst, '[')
		for it, first := v.Doc().Iter(), true; it.Next(); first = false {
			if !first {
				dst = append(dst, ", "...)
			}
			if len(dst) > bsonx.MaxShown {
				dst = append(dst, "..."...)
				break
			}
			dst = appendShown(dst, it.Value())
		}
		return append(dst, ']')
	case bsonx.TypeString:
		return append(appendText(append(dst, '"'), v.StrBytes()), '"')
	case bsonx.TypeDouble:
		return append(dst, numeric.FormatDouble(v.Double())...)
	case bsonx.TypeDate:
		text, err := CoerceText(v)
		if err != nil {
			text = "illegal date"
		}
		return append(dst, text...)
	default:
		return appendShownRare(dst, v)
	}
}

// appendText appends a string or name. It appends only the beginning of a very long text.
func appendText(dst, text []byte) []byte {
	if len(text) <= bsonx.MaxShown {
		return append(dst, text...)
	}
	return append(append(dst, text[:bsonx.MaxShown]...), "..."...)
}

func appendShownRare(dst []byte, v bsonx.Value) []byte {
	switch v.Type {
	case bsonx.TypeObjectID:
		return hex.AppendEncode(dst, v.Data)
	case bsonx.TypeBinary:
		return append(dst, ShowBinary(v)...)
	case bsonx.TypeCode:
		return append(appendText(append(dst, `Code("`...), v.StrBytes()), `")`...)
	case bsonx.TypeSymbol:
		return append(appendText(append(dst, `Symbol("`...), v.StrBytes()), `")`...)
	case bsonx.TypeCodeWithScope:
		code, scope := v.CodeWithScope()
		return append(dst, `CodeWScope("`+code+`", `+bsonx.FormatShell(bsonx.Document(scope))+`)`...)
	case bsonx.TypeDBPointer:
		n := len(v.Data) - 12
		dst = append(append(dst, `DBRef("`...), v.Data[4:n-1]...)
		return append(hex.AppendEncode(append(dst, `", `...), v.Data[n:]), ')')
	default:
		return bsonx.AppendShell(dst, v)
	}
}

// ShowNumber formats a number after converting it to a double.
func ShowNumber(v bsonx.Value) string {
	f, _ := v.AsFloat64()
	return numeric.FormatDouble(f)
}

// ShowElement formats a field of a command for an error message about an invalid argument: $firstN:
// [ "$a" ].
func ShowElement(name string, v bsonx.Value) string { return name + ": " + bsonx.FormatShell(v) }

// ShowBinary formats binary data for an error message. It formats only the bytes that fit into
// mongoerr.MaxMessage.
func ShowBinary(v bsonx.Value) string {
	subtype, data := v.Binary()
	data = data[:min(len(data), mongoerr.MaxMessage/2+1)]
	return fmt.Sprintf(`BinData(%d, "%X")`, subtype, data)
}

// CoerceText converts v to text for string operators that accept other types: null becomes empty,
// and numbers and dates are formatted.
func CoerceText(v bsonx.Value) (string, error) {
	switch v.Type {
	case bsonx.TypeMissing, bsonx.TypeNull, bsonx.TypeUndefined:
		return "", nil
	case bsonx.TypeString, bsonx.TypeSymbol, bsonx.TypeCode:
		return v.Str(), nil
	case bsonx.TypeDouble:
		return strings.Replace(FormatDouble(v.Double()), "Infinity", "inf", 1), nil
	case bsonx.TypeInt32:
		return strconv.Itoa(int(v.Int32())), nil
	case bsonx.TypeInt64:
		return strconv.FormatInt(v.Int64(), 10), nil
	case bsonx.TypeDecimal128:
		return formatDecimal(v), nil
	case bsonx.TypeDate:
		return formatISODate(v.Int64())
	case bsonx.TypeTimestamp:
		t, i := v.Timestamp()
		return time.Unix(int64(t), 0).UTC().Format("Jan _2 15:04:05") + ":" + strconv.Itoa(int(i)), nil
	default:
		return "", mongoerr.New(16007, "can't convert from BSON type %s to String", v.Type)
	}
}
