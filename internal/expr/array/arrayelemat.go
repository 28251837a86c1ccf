package array

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

func arrayElemAtDefinition() expr.Definition {
	return expr.Definition{
		Name: "$arrayElemAt", Family: family, Parse: expr.OpN(arrayElemAt),
		Min: 2, Max: 2,
		Total: feature.No, Folds: feature.Yes, Depends: expr.OnOperands, StableAPI: feature.Yes,
	}
}

func arrayElemAt(args []bsonx.Value) (bsonx.Value, error) {
	array, at := args[0], args[1]
	if expr.Nullish(array) || expr.Nullish(at) {
		return bsonx.Null, nil
	}
	if array.Type != bsonx.TypeArray {
		return bsonx.Missing, mongoerr.New(28689,
			"$arrayElemAt's first argument must be an array, but is %s", array.Type)
	}
	if !at.Type.IsNumber() {
		return bsonx.Missing, mongoerr.New(28690, "$arrayElemAt's second argument must be a numeric value, but is %s", at.Type)
	}
	i, ok := expr.AsInt32(at)
	if !ok {
		return bsonx.Missing, mongoerr.New(28691, "$arrayElemAt's second argument must be representable as a 32-bit integer: %s", expr.ShowNumber(at))
	}
	return elementAt(array.Doc(), i), nil
}

// elementAt returns element i of the array, counted from the end if i is negative. It returns
// bsonx.Missing if there is no such element.
func elementAt(array bsonx.Doc, i int) bsonx.Value {
	if i < 0 {
		i += array.Len()
	}
	if i < 0 {
		return bsonx.Missing
	}
	return array.Index(i)
}

func firstDefinition() expr.Definition {
	return expr.Definition{
		Name: "$first", Family: family, Parse: expr.Op1(end("$first", 0)),
		Total: feature.No, Folds: feature.Yes, Depends: expr.OnOperands, StableAPI: feature.Yes,
	}
}

func lastDefinition() expr.Definition {
	return expr.Definition{
		Name: "$last", Family: family, Parse: expr.Op1(end("$last", -1)),
		Total: feature.No, Folds: feature.Yes, Depends: expr.OnOperands, StableAPI: feature.Yes,
	}
}

// end returns the function of $first (i is 0) or $last (i is -1).
func end(name string, i int) func(v bsonx.Value) (bsonx.Value, error) {
	return func(v bsonx.Value) (bsonx.Value, error) { return elementOf(name, v, i) }
}

func elementOf(name string, v bsonx.Value, i int) (bsonx.Value, error) {
	if expr.Nullish(v) {
		return bsonx.Null, nil
	}
	if v.Type != bsonx.TypeArray {
		return bsonx.Missing, mongoerr.New(28689, "%s's argument must be an array, but is %s", name, v.Type)
	}
	return elementAt(v.Doc(), i), nil
}
