package arithmetic

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// atPlace makes $round and $trunc: the second operand is a decimal place from -20 to 100.
func atPlace(name string, fn func(out *bsonx.Arena, v bsonx.Value, place int) (bsonx.Value, error)) expr.Definition {
	def := expr.MakeN(name, "arithmetic", 1, 2, func(out *bsonx.Arena, args []bsonx.Value) (bsonx.Value, error) {
		v, place := args[0], 0
		if expr.Nullish(v) {
			return bsonx.Null, nil
		}
		if !v.Type.IsNumber() {
			return bsonx.Missing, mongoerr.New(51081, "%s only supports numeric types, not %s", name, v.Type)
		}
		if len(args) == 2 {
			if expr.Nullish(args[1]) {
				return bsonx.Null, nil
			}
			var err error
			if place, err = placeOf(name, args[1]); err != nil {
				return bsonx.Missing, err
			}
		}
		return fn(out, v, place)
	})
	return expr.Lazily(def, 1, bsonx.Missing, one)
}

func placeOf(name string, v bsonx.Value) (int, error) {
	if !v.Type.IsNumber() {
		return 0, mongoerr.New(16004, "can't convert from BSON type %s to long", v.Type)
	}
	if _, ok := v.AsInt64(); !ok {
		return 0, expr.ErrOutOfLong(v)
	}
	n, ok := expr.AsInt32(v)
	if !ok {
		return 0, mongoerr.New(51082, "precision argument to  %s must be a integral value", name)
	}
	if n < -20 || n > 100 {
		return 0, mongoerr.New(51083, "cannot apply %s with precision value %d value must be in [-20, 100]", name, n)
	}
	return n, nil
}
