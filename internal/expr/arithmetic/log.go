package arithmetic

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/numeric"
)

func logDefinition() expr.Definition {
	return expr.Definition{
		Name: "$log", Family: family, Parse: expr.Op2(logarithm),
		Total: feature.No, Folds: feature.Yes, Depends: expr.OnOperands, StableAPI: feature.Yes,
	}
}

func logarithm(v, base bsonx.Value) (bsonx.Value, error) {
	switch {
	case expr.Nullish(v) || expr.Nullish(base):
		return bsonx.Null, nil
	case !v.Type.IsNumber():
		return bsonx.Missing, mongoerr.New(28756, "$log's argument must be numeric, not %s", v.Type)
	case !base.Type.IsNumber():
		return bsonx.Missing, mongoerr.New(28757, "$log's base must be numeric, not %s", base.Type)
	}
	return numeric.Log(v, base)
}
