package object

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

func bsonSizeDefinition() expr.Definition {
	return expr.Definition{
		Name: "$bsonSize", Family: family, Parse: expr.Op1(bsonSize),
		Total: feature.No, Folds: feature.Yes, Depends: expr.OnOperands, StableAPI: feature.Yes,
	}
}

func bsonSize(v bsonx.Value) (bsonx.Value, error) {
	if expr.Nullish(v) {
		return bsonx.Null, nil
	}
	if v.Type != bsonx.TypeDocument {
		return bsonx.Missing, mongoerr.New(31393, "$bsonSize requires a document input, found: %s", v.Type)
	}
	return bsonx.Int32(int32(len(v.Data))), nil
}

func binarySizeDefinition() expr.Definition {
	return expr.Definition{
		Name: "$binarySize", Family: family, Parse: expr.Op1(binarySize),
		Total: feature.No, Folds: feature.Yes, Depends: expr.OnOperands, StableAPI: feature.Yes,
	}
}

func binarySize(v bsonx.Value) (bsonx.Value, error) {
	switch {
	case expr.Nullish(v):
		return bsonx.Null, nil
	case v.Type == bsonx.TypeString:
		return bsonx.Int32(int32(len(v.StrBytes()))), nil
	case v.Type == bsonx.TypeBinary:
		_, data := v.Binary()
		return bsonx.Int32(int32(len(data))), nil
	}
	return bsonx.Missing, mongoerr.New(51276, "$binarySize requires a string or BinData argument, found: %s", v.Type)
}
