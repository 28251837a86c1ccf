package array

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

func sizeDefinition() expr.Definition {
	return expr.Definition{
		Name: "$size", Family: family, Parse: expr.Make1(size),
		Total: feature.No, Folds: feature.Yes, Depends: expr.OnOperands, StableAPI: feature.Yes,
	}
}

func size(out *bsonx.Arena, v bsonx.Value) (bsonx.Value, error) {
	if v.Type != bsonx.TypeArray {
		return bsonx.Missing, mongoerr.New(17124, "The argument to $size must be an array, but was of type: %s", v.Type)
	}
	return out.Int32(int32(v.Doc().Len())), nil
}
