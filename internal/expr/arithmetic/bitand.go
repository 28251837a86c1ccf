package arithmetic

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/numeric"
)

// bitwise combines int32 and int64 values, beginning with the operation's neutral element.
func bitwise(name string, op numeric.BitOp, neutral int32) expr.Definition {
	def := expr.OpAssociative(name, "arithmetic", expr.Commutable, func(_ *bsonx.Arena, args []bsonx.Value) (bsonx.Value, error) {
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
					return bsonx.Missing, mongoerr.New(mongoerr.TypeMismatch, "%s only supports int and long operands.", name)
				}
				return bsonx.Null, nil
			}
		}
		return result, nil
	})
	return expr.Lazily(def, 1)
}

func bitNot(v bsonx.Value) (bsonx.Value, error) {
	switch {
	case expr.Nullish(v):
		return bsonx.Null, nil
	case !v.Type.IsNumber():
		return bsonx.Missing, mongoerr.New(28765, "$bitNot only supports numeric types, not %s", v.Type)
	case v.Type == bsonx.TypeDouble || v.Type == bsonx.TypeDecimal128:
		return bsonx.Missing, mongoerr.New(mongoerr.TypeMismatch, "$bitNot only supports int and long, not: %s.", v.Type)
	}
	return numeric.BitNot(v)
}
