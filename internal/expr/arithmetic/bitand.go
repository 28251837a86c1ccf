package arithmetic

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/numeric"
)

func bitAndDefinition() expr.Definition { return bitwise("$bitAnd", numeric.And, -1) }
func bitOrDefinition() expr.Definition  { return bitwise("$bitOr", numeric.Or, 0) }
func bitXorDefinition() expr.Definition { return bitwise("$bitXor", numeric.Xor, 0) }

func bitwise(name string, op numeric.BitOp, neutral int32) expr.Definition {
	return expr.Definition{
		Name: name, Family: family, Parse: expr.OpN(combined(name, op, neutral)),
		Max: -1, Association: expr.Commutable, Lazy: &expr.Laziness{From: 1},
		Total: feature.No, Folds: feature.Yes, Depends: expr.OnOperands, StableAPI: feature.Yes,
	}
}

// combined returns a function that combines int and long values with op. neutral is the result
// without operands.
func combined(name string, op numeric.BitOp, neutral int32) func(args []bsonx.Value) (bsonx.Value, error) {
	return func(args []bsonx.Value) (bsonx.Value, error) {
		result := bsonx.Int32(neutral)
		for _, v := range args {
			switch v.Type {
			case bsonx.TypeInt32, bsonx.TypeInt64:
				var err error
				if result, err = numeric.Bit(op, result, v); err != nil {
					return bsonx.Missing, err
				}
			default:
				if !expr.Nullish(v) {
					return bsonx.Missing, mongoerr.New(mongoerr.TypeMismatch,
						"%s only supports int and long operands.", name)
				}
				return bsonx.Null, nil
			}
		}
		return result, nil
	}
}

func bitNotDefinition() expr.Definition {
	return expr.Definition{
		Name: "$bitNot", Family: family, Parse: expr.Op1(bitNot),
		Total: feature.No, Folds: feature.Yes, Depends: expr.OnOperands, StableAPI: feature.Yes,
	}
}

func bitNot(v bsonx.Value) (bsonx.Value, error) {
	switch {
	case expr.Nullish(v):
		return bsonx.Null, nil
	case !v.Type.IsNumber():
		return bsonx.Missing, mongoerr.New(28765, "$bitNot only supports numeric types, not %s", v.Type)
	case v.Type == bsonx.TypeDouble || v.Type == bsonx.TypeDecimal128:
		return bsonx.Missing, mongoerr.New(mongoerr.TypeMismatch,
			"$bitNot only supports int and long, not: %s.", v.Type)
	}
	return numeric.BitNot(v)
}
