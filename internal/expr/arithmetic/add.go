package arithmetic

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/numeric"
)

func addDefinition() expr.Definition {
	return expr.Definition{
		Name: "$add", Family: family, Parse: expr.MakeN(add),
		Max: -1, Association: expr.AssocLeft, Lazy: &expr.Laziness{From: 1},
		Total: feature.No, Folds: feature.Yes, Depends: expr.OnOperands, StableAPI: feature.Yes,
	}
}

// add adds numbers from left to right. One operand may be a date; each later number is rounded to
// an integer and added as milliseconds. The result is null if an operand is null.
func add(out *bsonx.Arena, args []bsonx.Value) (bsonx.Value, error) {
	var sum numeric.Total
	date := bsonx.Missing
	for _, v := range args {
		var err error
		switch {
		case expr.Nullish(v):
			return bsonx.Null, nil
		case v.Type == bsonx.TypeDate && !date.IsMissing():
			return bsonx.Missing, mongoerr.New(16612, "only one date allowed in an $add expression")
		case v.Type == bsonx.TypeDate:
			date, err = shiftDate(out, v.Int64(), sum.Result(), 1)
		case !v.Type.IsNumber():
			return bsonx.Missing, mongoerr.New(mongoerr.TypeMismatch,
				"$add only supports numeric or date types, not %s", v.Type)
		case date.IsMissing():
			sum.Add(v)
		default:
			date, err = shiftDate(out, date.Int64(), v, 1)
		}
		if err != nil {
			return bsonx.Missing, err
		}
	}
	if date.IsMissing() {
		return sum.ResultIn(out), nil
	}
	return date, nil
}

// shiftDate adds the number by to a date in milliseconds, or subtracts it if sign is -1.
func shiftDate(out *bsonx.Arena, millis int64, by bsonx.Value, sign int64) (bsonx.Value, error) {
	delta, ok := expr.RoundedInt64(by)
	moved := millis + sign*delta
	if later := (sign > 0) == (delta > 0); !ok || delta != 0 && later != (moved > millis) {
		return bsonx.Missing, mongoerr.New(mongoerr.Overflow, "date overflow")
	}
	return out.Date(moved), nil
}
