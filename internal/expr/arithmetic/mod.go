package arithmetic

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/numeric"
)

func modDefinition() expr.Definition {
	return expr.Definition{
		Name: "$mod", Family: family, Parse: expr.Make2(mod),
		Swapped: true,
		Total:   feature.No, Folds: feature.Yes, Depends: expr.OnOperands, StableAPI: feature.Yes,
	}
}

func mod(out *bsonx.Arena, a, b bsonx.Value) (bsonx.Value, error) {
	switch {
	case a.Type.IsNumber() && b.Type.IsNumber():
		if numeric.IsZero(b) && (a.Type == bsonx.TypeDecimal128 || b.Type == bsonx.TypeDecimal128) {
			return bsonx.Missing, mongoerr.New(5733415, "can't $mod by zero")
		}
		return numeric.ModIn(out, a, b)
	case expr.Nullish(a) || expr.Nullish(b):
		return bsonx.Null, nil
	}
	return bsonx.Missing, mongoerr.New(16611, "$mod only supports numeric types, not %s and %s", a.Type, b.Type)
}
