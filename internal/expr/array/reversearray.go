package array

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

func reverseArrayDefinition() expr.Definition {
	return expr.Definition{
		Name: "$reverseArray", Family: family, Parse: expr.Watch1(reverseArray),
		Total: feature.No, Folds: feature.Yes, Depends: expr.OnOperands, StableAPI: feature.Yes,
	}
}

func reverseArray(v bsonx.Value, running *interrupt.Running) (bsonx.Value, error) {
	if expr.Nullish(v) {
		return bsonx.Null, nil
	}
	if v.Type != bsonx.TypeArray {
		return bsonx.Missing, mongoerr.New(34435, "The argument to $reverseArray must be an array, but was of type: %s", v.Type)
	}
	values, err := expr.Elements(v.Doc(), running)
	if err != nil {
		return bsonx.Missing, err
	}
	slices.Reverse(values)
	return expr.ListOf(values, running)
}
