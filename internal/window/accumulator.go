package window

import (
	"github.com/sheafdb/sheaf/internal/accumulator"
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// accumulatorFunctions returns definitions for the accumulators that have no special implementation
// for sliding windows.
func accumulatorFunctions() []definition {
	var defs []definition
	for _, def := range accumulator.Windowed() {
		defs = append(defs, definition{
			Name: def.Name, Parse: parseAccumulator,
			Unremovable: def.Window == accumulator.WholeWindow, OwnParser: def.Parse != nil,
		})
	}
	return defs
}

// boundedAccumulation compiles the accumulator and the window in spec.
func (d *definition) boundedAccumulation(spec bsonx.Doc, order *Order,
	vars *expr.Vars,
) (acc *accumulator.Accumulation, bounds frame, err error) {
	bounds, err = d.bounded(spec, order, func(arg bsonx.Value) (err error) {
		acc, err = accumulation(d.Name, arg, vars)
		return err
	})
	return acc, bounds, err
}

func parseAccumulator(def *definition, spec bsonx.Doc, order *Order, vars *expr.Vars) (*Function, error) {
	acc, bounds, err := def.boundedAccumulation(spec, order, vars)
	if err != nil {
		return nil, err
	}
	// For the accumulators that MongoDB cannot remove values from, a window must begin with the
	// partition.
	if bounds.lower.unbounded {
		return slidingFunction(bounds, acc.Arg, nil, order, func(ctx *expr.Context) (state, error) {
			a, err := acc.New(ctx, bsonx.Missing)
			return &accumulated{a}, err
		}), nil
	}
	return slidingFunction(bounds, acc.Arg, nil, order, func(ctx *expr.Context) (state, error) {
		if def.Unremovable {
			return nil, mongoerr.New(5461500, "Window function %s is not supported with a removable window", def.Name)
		}
		return def.slide(acc, ctx.Running), checkInit(acc, ctx)
	}), nil
}

// accumulation compiles an accumulator with the argument arg. An array is allowed as the operand,
// unlike in $group.
func accumulation(name string, arg bsonx.Value, vars *expr.Vars) (*accumulator.Accumulation, error) {
	if name == "$count" && (arg.Type != bsonx.TypeDocument || !arg.Doc().IsEmpty()) {
		return nil, mongoerr.New(mongoerr.FailedToParse, "$count only accepts an empty object as input")
	}
	if arg.Type != bsonx.TypeArray {
		return accumulator.Parse(name, arg, vars)
	}
	acc, err := accumulator.Parse(name, bsonx.Null, vars)
	if err != nil {
		return nil, err
	}
	e, err := expr.Parse(arg, vars)
	whole := *acc
	whole.Arg = e
	return &whole, err
}

// checkInit returns an error if a parameter of the accumulator, such as n, is invalid.
func checkInit(acc *accumulator.Accumulation, ctx *expr.Context) error {
	_, err := acc.New(ctx, bsonx.Missing)
	return err
}
