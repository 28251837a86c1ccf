package str

import (
	"unicode/utf8"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
)

// textOf is expr.CoerceText without copying strings.
func textOf(v bsonx.Value) ([]byte, error) {
	if v.Type == bsonx.TypeString {
		return v.StrBytes(), nil
	}
	text, err := expr.CoerceText(v)
	return []byte(text), err
}

// textIn copies text to a new string in the arena.
func textIn(out *bsonx.Arena, text []byte) bsonx.Value {
	v, to := out.Text(len(text))
	copy(to, text)
	return v
}

// countCodePoints returns the number of code points: the bytes that are not continuation bytes.
func countCodePoints(text []byte) int {
	n := 0
	for _, c := range text {
		if utf8.RuneStart(c) {
			n++
		}
	}
	return n
}
