package arithmetic

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/numeric"
)

func roundDefinition() expr.Definition { return atPlace("$round", numeric.RoundIn) }
func truncDefinition() expr.Definition { return atPlace("$trunc", numeric.TruncIn) }

type placeFunc func(out *bsonx.Arena, v bsonx.Value, place int) (bsonx.Value, error)

// atPlace defines $round or $trunc.
func atPlace(name string, fn placeFunc) expr.Definition {
	return expr.Definition{
		Name: name, Family: family, Parse: expr.MakeN(placed(name, fn)),
		Min: 1, Max: 2, Lazy: &expr.Laziness{From: 1, Rest: []bsonx.Value{bsonx.Missing, one}},
		Total: feature.No, Folds: feature.Yes, Depends: expr.OnOperands, StableAPI: feature.Yes,
	}
}

// placed returns a function that calls fn with a number and the decimal place. The place is the
// second operand, from -20 to 100.
func placed(name string, fn placeFunc) expr.FuncN {
	return func(out *bsonx.Arena, args []bsonx.Value) (bsonx.Value, error) {
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
	}
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
