package str

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
)

// mapASCII makes an operator that changes the case of the letters from low to high; other
// characters stay.
func mapASCII(name string, low, high byte) expr.Definition {
	return expr.Make1(name, "string", func(out *bsonx.Arena, v bsonx.Value) (bsonx.Value, error) {
		text, err := textOf(v)
		if err != nil {
			return bsonx.Missing, err
		}
		mapped, to := out.Text(len(text))
		foldASCII(to, text, low, high)
		return mapped, nil
	})
}

func foldASCII(to, text []byte, low, high byte) {
	for i, c := range text {
		if c >= low && c <= high {
			c ^= 0x20
		}
		to[i] = c
	}
}
