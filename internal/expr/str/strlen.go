package str

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

func strLenBytesDefinition() expr.Definition {
	return expr.Definition{
		Name: "$strLenBytes", Family: family, Parse: expr.Make1(strLenBytes),
		Total: feature.No, Folds: feature.Yes, Depends: expr.OnOperands, StableAPI: feature.Yes,
	}
}

func strLenBytes(out *bsonx.Arena, v bsonx.Value) (bsonx.Value, error) {
	if v.Type != bsonx.TypeString {
		return bsonx.Missing, mongoerr.New(34473, "$strLenBytes requires a string argument, found: %s", v.Type)
	}
	return out.Int32(int32(len(v.StrBytes()))), nil
}

func strLenCPDefinition() expr.Definition {
	return expr.Definition{
		Name: "$strLenCP", Family: family, Parse: expr.Make1(strLenCP),
		Total: feature.No, Folds: feature.Yes, Depends: expr.OnOperands, StableAPI: feature.Yes,
	}
}

func strLenCP(out *bsonx.Arena, v bsonx.Value) (bsonx.Value, error) {
	if v.Type != bsonx.TypeString {
		return bsonx.Missing, mongoerr.New(34471, "$strLenCP requires a string argument, found: %s", v.Type)
	}
	return out.Int32(int32(countCodePoints(v.StrBytes()))), nil
}
