package str

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
)

func toLowerDefinition() expr.Definition {
	return expr.Definition{
		Name: "$toLower", Family: family, Parse: expr.Make1(mapASCII('A', 'Z')),
		Total: feature.No, Folds: feature.Yes, Depends: expr.OnOperands, StableAPI: feature.Yes,
	}
}

func toUpperDefinition() expr.Definition {
	return expr.Definition{
		Name: "$toUpper", Family: family, Parse: expr.Make1(mapASCII('a', 'z')),
		Total: feature.No, Folds: feature.Yes, Depends: expr.OnOperands, StableAPI: feature.Yes,
	}
}

// mapASCII returns a function that changes the case of the ASCII letters from low to high. It keeps
// other characters.
func mapASCII(low, high byte) expr.Func1 {
	return func(out *bsonx.Arena, v bsonx.Value) (bsonx.Value, error) {
		text, err := textOf(v)
		if err != nil {
			return bsonx.Missing, err
		}
		mapped, to := out.Text(len(text))
		foldASCII(to, text, low, high)
		return mapped, nil
	}
}

func foldASCII(to, text []byte, low, high byte) {
	for i, c := range text {
		if c >= low && c <= high {
			c ^= 0x20
		}
		to[i] = c
	}
}
