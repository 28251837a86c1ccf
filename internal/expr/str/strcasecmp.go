package str

import (
	"cmp"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
)

// compareFolded compares two texts as if ASCII letters were upper case.
func compareFolded(a, b []byte) int {
	upper := func(c byte) byte {
		if c >= 'a' && c <= 'z' {
			c ^= 0x20
		}
		return c
	}
	for i := range min(len(a), len(b)) {
		if c := cmp.Compare(upper(a[i]), upper(b[i])); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(a), len(b))
}

func strcasecmpDefinition() expr.Definition {
	return expr.Definition{
		Name: "$strcasecmp", Family: family, Parse: expr.Make2(strcasecmp),
		Total: feature.No, Folds: feature.Yes, Depends: expr.OnOperands, StableAPI: feature.Yes,
	}
}

func strcasecmp(out *bsonx.Arena, a, b bsonx.Value) (bsonx.Value, error) {
	x, err := textOf(a)
	if err != nil {
		return bsonx.Missing, err
	}
	y, err := textOf(b)
	if err != nil {
		return bsonx.Missing, err
	}
	return out.Int32(int32(compareFolded(x, y))), nil
}
