package expr

import (
	"encoding/hex"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/numeric"
)

// Show prints a computed value for an error message as MongoDB does: {a: 1, b: [2, "x"]}. The
// notation is cut at bsonx.MaxShown. bsonx.FormatShell prints the values of commands instead.
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
		text, err := coerceText(v)
		if err != nil {
			text = "illegal date"
		}
		return append(dst, text...)
	default:
		return appendShownRare(dst, v)
	}
}

// appendText appends a string or a name, or the beginning of a very long one.
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
		return append(dst, showBinary(v)...)
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

// ShowNumber prints a number as the double that it is near to.
func ShowNumber(v bsonx.Value) string {
	f, _ := v.AsFloat64()
	return numeric.FormatDouble(f)
}

// ShowElement prints a field of a command, as MongoDB shows an argument that it refuses: $firstN: [ "$a" ].
func ShowElement(name string, v bsonx.Value) string { return name + ": " + bsonx.FormatShell(v) }
