package array

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

func sliceDefinition() expr.Definition {
	return expr.Definition{
		Name: "$slice", Family: family, Parse: expr.WatchN(slice),
		Min: 2, Max: 3,
		Lazy:  &expr.Laziness{From: 2, Rest: []bsonx.Value{bsonx.Missing, bsonx.Missing, bsonx.Int32(1)}},
		Total: feature.No, Folds: feature.Yes, Depends: expr.OnOperands, StableAPI: feature.Yes,
	}
}

func slice(args []bsonx.Value, running *interrupt.Running) (bsonx.Value, error) {
	array, n := args[0], args[1]
	if expr.Nullish(array) || expr.Nullish(n) {
		return bsonx.Null, nil
	}
	if array.Type != bsonx.TypeArray {
		return bsonx.Missing, mongoerr.New(28724, "First argument to $slice must be an array, but is of type: %s", array.Type)
	}
	if !n.Type.IsNumber() {
		return bsonx.Missing, mongoerr.New(28725, "Second argument to $slice must be a numeric value, but is of type: %s", n.Type)
	}
	at, ok := expr.AsInt32(n)
	if !ok {
		return bsonx.Missing, mongoerr.New(28726, "Second argument to $slice can't be represented as a 32-bit integer: %s", expr.ShowNumber(n))
	}
	length := array.Doc().Len()
	if len(args) == 2 {
		if at < 0 {
			return expr.SubArray(array.Doc(), max(0, length+at), length, running)
		}
		return expr.SubArray(array.Doc(), 0, min(at, length), running)
	}
	if expr.Nullish(args[2]) {
		return bsonx.Null, nil
	}
	count, err := sliceCount(args[2])
	if err != nil {
		return bsonx.Missing, err
	}
	if at < 0 {
		at = max(0, length+at)
	}
	at = min(at, length)
	return expr.SubArray(array.Doc(), at, min(at+count, length), running)
}

func sliceCount(v bsonx.Value) (int, error) {
	if !v.Type.IsNumber() {
		return 0, mongoerr.New(28727, "Third argument to $slice must be numeric, but is of type: %s", v.Type)
	}
	count, ok := expr.AsInt32(v)
	if !ok {
		return 0, mongoerr.New(28728, "Third argument to $slice can't be represented as a 32-bit integer: %s", expr.Show(v))
	}
	if count <= 0 {
		return 0, mongoerr.New(28729, "Third argument to $slice must be positive: %s", expr.Show(v))
	}
	return count, nil
}
