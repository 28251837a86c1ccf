package array

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
)

func isArrayDefinition() expr.Definition {
	return expr.Definition{
		Name: "$isArray", Family: family, Parse: expr.Op1(isArray),
		Total: feature.Yes, Folds: feature.Yes, Depends: expr.OnOperands, StableAPI: feature.Yes,
	}
}

func isArray(v bsonx.Value) (bsonx.Value, error) { return bsonx.Bool(v.Type == bsonx.TypeArray), nil }
