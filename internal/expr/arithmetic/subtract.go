package arithmetic

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/numeric"
)

func subtractDefinition() expr.Definition {
	return expr.Definition{
		Name: "$subtract", Family: family, Parse: expr.Make2(subtract),
		Swapped: true,
		Total:   feature.No, Folds: feature.Yes, Depends: expr.OnOperands, StableAPI: feature.Yes,
	}
}

func subtract(out *bsonx.Arena, a, b bsonx.Value) (bsonx.Value, error) {
	switch {
	case expr.Nullish(a) || expr.Nullish(b):
		return bsonx.Null, nil
	case a.Type.IsNumber() && b.Type.IsNumber():
		return numeric.SubtractIn(out, a, b)
	case a.Type == bsonx.TypeDate && b.Type == bsonx.TypeDate:
		return out.Int64(a.Int64() - b.Int64()), nil // wraps around on overflow, as in MongoDB
	case a.Type == bsonx.TypeDate && b.Type.IsNumber():
		return shiftDate(out, a.Int64(), b, -1)
	case a.Type == bsonx.TypeDate:
		return bsonx.Missing, mongoerr.New(mongoerr.TypeMismatch, "can't $subtract %s from Date", b.Type)
	}
	return bsonx.Missing, mongoerr.New(mongoerr.TypeMismatch, "can't $subtract %s from %s", b.Type, a.Type)
}
