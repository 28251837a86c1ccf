package array

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
)

func isArrayDefinition() expr.Definition {
	return expr.Definition{
		Name: "$isArray", Family: family, Parse: expr.Op1(isArray),
		Total: expr.Yes, Folds: expr.Yes, Depends: expr.OnOperands, StableAPI: expr.Yes,
	}
}

func isArray(v bsonx.Value) (bsonx.Value, error) { return bsonx.Bool(v.Type == bsonx.TypeArray), nil }
