package array

import (
	"math"
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

func indexOfArrayDefinition() expr.Definition {
	return expr.Definition{
		Name: "$indexOfArray", Family: family, Parse: parseIndexOfArray,
		Min: 2, Max: 4,
		Lazy: &expr.Laziness{
			From: 1, Rest: []bsonx.Value{bsonx.Missing, bsonx.Int32(0), bsonx.Int32(0), bsonx.Int32(0)},
		},
		Total: feature.No, Folds: feature.Yes, Depends: expr.OnOperands, StableAPI: feature.Yes,
	}
}

var parseSearch = expr.CollateN(indexOfArray)

// parseIndexOfArray compiles $indexOfArray and checks the type of a constant array. As in MongoDB,
// the sought value is evaluated after the bounds: if both fail, the error is the error of the
// bounds.
func parseIndexOfArray(p *expr.Parser, def *expr.Definition, arg bsonx.Value, vars *expr.Vars) (expr.Expr, error) {
	e, err := parseSearch(p, def, arg, vars)
	if err != nil {
		return e, err
	}
	if call, isCall := e.(*expr.CallN); isCall {
		sought := call.Args[1]
		call.Args = append(slices.Delete(call.Args, 1, 2), sought)
	}
	if expr.AllConst(e.Children()) {
		return e, nil
	}
	c, ok := e.Children()[0].(*expr.Const)
	switch {
	case ok && expr.Nullish(c.Value):
		return &expr.Const{Value: bsonx.Null}, nil
	case ok && c.Value.Type != bsonx.TypeArray:
		vars.Failures().Add(mongoerr.New(50809, "First operand of $indexOfArray must be an array. First argument is of type: %s", c.Value.Type))
	}
	return e, nil
}

// indexOfArray returns the function for the operands: the array, optional bounds, and last the
// sought value.
func indexOfArray(c *collation.Collator) expr.WatchingN {
	return func(args []bsonx.Value, running *interrupt.Running) (bsonx.Value, error) {
		if expr.Nullish(args[0]) {
			return bsonx.Null, nil
		}
		if args[0].Type != bsonx.TypeArray {
			return bsonx.Missing, mongoerr.New(40090, "$indexOfArray requires an array as a first argument, found: %s", args[0].Type)
		}
		from, to, err := expr.SearchBounds("$indexOfArray", args[1:len(args)-1], math.MaxInt32)
		if err != nil {
			return bsonx.Missing, err
		}
		sought := args[len(args)-1]
		var meter interrupt.Meter
		i := 0
		for it := args[0].Doc().Iter(); it.Next() && i < to; i++ {
			if err := meter.Did(interrupt.Step+min(len(sought.Data), len(it.Value().Data)), running); err != nil {
				return bsonx.Missing, err
			}
			equal := i >= from && expr.Compare(c, it.Value(), sought) == 0
			if err := c.Ended(it.Value(), sought); err != nil {
				return bsonx.Missing, err
			}
			if equal {
				return bsonx.Int32(int32(i)), nil
			}
		}
		return bsonx.Int32(-1), nil
	}
}
