package arithmetic

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/numeric"
)

var one = bsonx.Int32(1)

func absDefinition() expr.Definition   { return function("$abs", numeric.AbsIn) }
func ceilDefinition() expr.Definition  { return function("$ceil", numeric.CeilIn) }
func floorDefinition() expr.Definition { return function("$floor", numeric.FloorIn) }
func sqrtDefinition() expr.Definition  { return function("$sqrt", expr.Plain1(numeric.Sqrt)) }
func expDefinition() expr.Definition   { return function("$exp", expr.Plain1(numeric.Exp)) }
func lnDefinition() expr.Definition    { return function("$ln", expr.Plain1(numeric.Ln)) }
func log10Definition() expr.Definition { return function("$log10", expr.Plain1(numeric.Log10)) }

// function defines an operator of one number. Null gives null, and other types are an error.
func function(name string, fn expr.Func1) expr.Definition {
	return expr.Definition{
		Name: name, Family: family, Parse: expr.Make1(ofNumber(name, fn)),
		Total: feature.No, Folds: feature.Yes, Depends: expr.OnOperands, StableAPI: feature.Yes,
	}
}

func ofNumber(name string, fn expr.Func1) expr.Func1 {
	return func(out *bsonx.Arena, v bsonx.Value) (bsonx.Value, error) {
		if expr.Nullish(v) {
			return bsonx.Null, nil
		}
		if !v.Type.IsNumber() {
			return bsonx.Missing, mongoerr.New(28765, "%s only supports numeric types, not %s", name, v.Type)
		}
		return fn(out, v)
	}
}
