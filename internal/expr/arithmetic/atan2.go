package arithmetic

import (
	"math"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/numeric"
)

func atan2Definition() expr.Definition {
	return expr.Definition{
		Name: "$atan2", Family: "trigonometry", Parse: expr.OpN(atan2),
		Min: 2, Max: 2, Lazy: &expr.Laziness{From: 1, Rest: []bsonx.Value{bsonx.Missing, one}},
		Total: feature.No, Folds: feature.Yes, Depends: expr.OnOperands, StableAPI: feature.Yes,
	}
}

func atan2(args []bsonx.Value) (bsonx.Value, error) {
	for i, v := range args {
		if expr.Nullish(v) {
			return bsonx.Null, nil
		}
		if !v.Type.IsNumber() {
			return bsonx.Missing, mongoerr.New(mongoerr.Code(51044+i),
				"$atan2 only supports numeric types, not %s", v.Type)
		}
	}
	y, x := args[0], args[1]
	if numeric.Widest(y.Type, x.Type) == bsonx.TypeDecimal128 {
		return numeric.Atan2(y, x), nil
	}
	a, _ := y.AsFloat64()
	b, _ := x.AsFloat64()
	return bsonx.Double(math.Atan2(a, b)), nil
}
