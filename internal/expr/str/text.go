package str

import (
	"unicode/utf8"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
)

// textOf is coerceText without a copy of strings.
func textOf(v bsonx.Value) ([]byte, error) {
	if v.Type == bsonx.TypeString {
		return v.StrBytes(), nil
	}
	text, err := expr.CoerceText(v)
	return []byte(text), err
}

// textIn makes a string of a copy of text.
func textIn(out *bsonx.Arena, text []byte) bsonx.Value {
	v, to := out.Text(len(text))
	copy(to, text)
	return v
}

// countCodePoints counts the bytes that do not continue a code point.
func countCodePoints(text []byte) int {
	n := 0
	for _, c := range text {
		if utf8.RuneStart(c) {
			n++
		}
	}
	return n
}
