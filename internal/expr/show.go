package expr

import (
	"fmt"
	"strconv"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

// Show prints a value for an error message, as a shell would. Documents and arrays are cut short.
func Show(v bsonx.Value) string {
	switch v.Type {
	case bsonx.TypeDocument:
		return show(v.Doc())
	case bsonx.TypeArray:
		return "[ … ]"
	case bsonx.TypeString:
		return strconv.Quote(v.Str())
	case bsonx.TypeInt32, bsonx.TypeInt64, bsonx.TypeDouble, bsonx.TypeDecimal128, bsonx.TypeDate:
		text, err := coerceText(v)
		if err != nil {
			return v.Type.String()
		}
		return text
	case bsonx.TypeBool:
		return strconv.FormatBool(v.Bool())
	case bsonx.TypeNull:
		return "null"
	default:
		return v.Type.String()
	}
}

// maxShown is how much of a document an error message repeats.
const maxShown = 256

func show(d bsonx.Doc) string {
	out := "{"
	for it := d.Iter(); it.Next(); {
		if len(out) > maxShown {
			return out + " … }"
		}
		out += fmt.Sprintf(" %s: %s", it.Key(), Show(it.Value()))
	}
	return out + " }"
}

func showValue(v bsonx.Value) string { return Show(v) }
