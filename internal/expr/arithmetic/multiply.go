package arithmetic

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/numeric"
)

func multiplyDefinition() expr.Definition {
	return expr.Definition{
		Name: "$multiply", Family: family, Parse: expr.MakeN(multiply),
		Max: -1, Association: expr.AssocLeft, Lazy: &expr.Laziness{From: 1},
		Total: feature.No, Folds: feature.Yes, Depends: expr.OnOperands, StableAPI: feature.Yes,
	}
}

func multiply(out *bsonx.Arena, args []bsonx.Value) (bsonx.Value, error) {
	product := one
	for i, v := range args {
		switch {
		case expr.Nullish(v):
			return bsonx.Null, nil
		case !v.Type.IsNumber():
			return bsonx.Missing, mongoerr.New(mongoerr.TypeMismatch,
				"$multiply only supports numeric types, not %s", v.Type)
		case i == 0:
			product = v
		default:
			var err error
			if product, err = numeric.MultiplyIn(out, product, v); err != nil {
				return bsonx.Missing, err
			}
		}
	}
	return product, nil
}
