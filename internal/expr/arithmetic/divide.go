package arithmetic

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/numeric"
)

func divideDefinition() expr.Definition {
	return expr.Definition{
		Name: "$divide", Family: family, Parse: expr.Make2(divide),
		Swapped: true,
		Total:   feature.No, Folds: feature.Yes, Depends: expr.OnOperands, StableAPI: feature.Yes,
	}
}

func divide(out *bsonx.Arena, a, b bsonx.Value) (bsonx.Value, error) {
	switch {
	case a.Type.IsNumber() && b.Type.IsNumber():
		return numeric.DivideIn(out, a, b)
	case expr.Nullish(a) || expr.Nullish(b):
		return bsonx.Null, nil
	}
	return bsonx.Missing, mongoerr.New(mongoerr.TypeMismatch,
		"$divide only supports numeric types, not %s and %s", a.Type, b.Type)
}
