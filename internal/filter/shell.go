package filter

import (
	"strconv"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

// shell writes a value for an error message.
func shell(v bsonx.Value) string {
	if i, ok := v.AsExactInt64(); ok {
		return strconv.FormatInt(i, 10)
	}
	if f, ok := v.AsFloat64(); ok {
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
	if v.Type == bsonx.TypeString {
		return strconv.Quote(v.Str())
	}
	return v.Type.String()
}
