package window

import (
	"github.com/sheafdb/sheaf/internal/accumulator"
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

func accumulators() []Definition {
	var defs []Definition
	for _, name := range []string{
		"$sum", "$avg", "$min", "$max", "$first", "$last", "$push", "$addToSet", "$stdDevPop", "$stdDevSamp", "$count",
		"$mergeObjects", "$top", "$topN", "$bottom", "$bottomN", "$firstN", "$lastN", "$minN", "$maxN", "$median", "$percentile",
	} {
		defs = append(defs, Definition{name, parseAccumulator})
	}
	return defs
}

func parseAccumulator(name string, spec bsonx.Doc, order *Order, vars *expr.Vars) (*Function, error) {
	var acc *accumulator.Accumulation
	bounds, err := bounded(name, spec, order, func(arg bsonx.Value) (err error) {
		acc, err = accumulation(name, arg, vars)
		return err
	})
	if err != nil {
		return nil, err
	}
	if name == "$first" || name == "$last" {
		return slidingFunction(bounds, acc.Arg, nil, order, func(*expr.Context) (state, error) {
			if bounds.lower.unbounded {
				return &endState{last: name == "$last"}, nil
			}
			return &slidingEnd{last: name == "$last"}, nil
		}).endsOnly(), nil
	}
	// The functions that MongoDB accumulates and never takes back are those whose windows begin with the partition.
	if bounds.lower.unbounded {
		return slidingFunction(bounds, acc.Arg, nil, order, func(ctx *expr.Context) (state, error) {
			a, err := acc.New(ctx, bsonx.Missing)
			return &accumulated{a}, err
		}), nil
	}
	return slidingFunction(bounds, acc.Arg, nil, order, func(ctx *expr.Context) (state, error) {
		if name == "$mergeObjects" {
			return nil, mongoerr.New(5461500, "Window function %s is not supported with a removable window", name)
		}
		return removableState(acc, ctx.Running), checkInit(acc, ctx)
	}), nil
}

// accumulation compiles an accumulator. An array is its operand here, which $group refuses.
func accumulation(name string, arg bsonx.Value, vars *expr.Vars) (*accumulator.Accumulation, error) {
	if name == "$count" && (arg.Type != bsonx.TypeDocument || !arg.Doc().IsEmpty()) {
		return nil, mongoerr.New(mongoerr.FailedToParse, "$count only accepts an empty object as input")
	}
	if arg.Type != bsonx.TypeArray {
		return accumulator.ParseAccumulator(name, arg, vars)
	}
	acc, err := accumulator.ParseAccumulator(name, bsonx.Null, vars)
	if err != nil {
		return nil, err
	}
	e, err := expr.Parse(arg, vars)
	whole := *acc
	whole.Arg = e
	return &whole, err
}

// checkInit reports what is wrong with an accumulator's parameters, such as n.
func checkInit(acc *accumulator.Accumulation, ctx *expr.Context) error {
	_, err := acc.New(ctx, bsonx.Missing)
	return err
}
