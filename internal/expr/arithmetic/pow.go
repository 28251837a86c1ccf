package arithmetic

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/numeric"
)

func powDefinition() expr.Definition {
	return expr.Definition{
		Name: "$pow", Family: family, Parse: expr.Op2(power),
		Total: feature.No, Folds: feature.Yes, Depends: expr.OnOperands, StableAPI: feature.Yes,
	}
}

func power(base, exponent bsonx.Value) (bsonx.Value, error) {
	switch {
	case expr.Nullish(base) || expr.Nullish(exponent):
		return bsonx.Null, nil
	case !base.Type.IsNumber():
		return bsonx.Missing, mongoerr.New(28762, "$pow's base must be numeric, not %s", base.Type)
	case !exponent.Type.IsNumber():
		return bsonx.Missing, mongoerr.New(28763, "$pow's exponent must be numeric, not %s", exponent.Type)
	}
	return numeric.Pow(base, exponent)
}
