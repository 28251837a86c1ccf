package pipeline

import (
	"slices"
	"strings"

	"github.com/sheafdb/sheaf/internal/accumulator"
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// windowFunction is a compiled window function.
type windowFunction struct {
	open    func(*expr.Context) (windowExec, error) // for one partition
	streams bool                                    // it looks at the current document only
	reads   []expr.Expr                             // what it computes of documents
}

// windowParser compiles a function of that name; spec is the whole object, in which window may be beside the function.
type windowParser func(name string, spec bsonx.Doc, order *windowSort, opts Options) (*windowFunction, error)

// windowFunctions is the table of all window functions.
func windowFunctions() []windowDefinition {
	return slices.Concat(
		[]windowDefinition{
			{"$covariancePop", parseCovariance},
			{"$covarianceSamp", parseCovariance},
			{"$derivative", parseSlope},
			{"$integral", parseSlope},
			{"$rank", parseRank},
			{"$denseRank", parseRank},
			{"$documentNumber", parseRank},
			{"$shift", parseShift},
			{"$expMovingAvg", parseExpMovingAvg},
			{"$locf", parseGapFill},
			{"$linearFill", parseGapFill},
		},
		windowAccumulators(),
	)
}

type windowDefinition struct {
	name  string
	parse windowParser
}

func windowAccumulators() []windowDefinition {
	var defs []windowDefinition
	for _, name := range []string{
		"$sum", "$avg", "$min", "$max", "$first", "$last", "$push", "$addToSet", "$stdDevPop", "$stdDevSamp", "$count",
		"$mergeObjects", "$top", "$topN", "$bottom", "$bottomN", "$firstN", "$lastN", "$minN", "$maxN", "$median", "$percentile",
	} {
		defs = append(defs, windowDefinition{name, parseWindowAccumulator})
	}
	return defs
}

// WindowFunctions lists the functions of $setWindowFields by name.
func WindowFunctions() []OperatorInfo {
	var out []OperatorInfo
	for _, def := range windowFunctions() {
		out = append(out, OperatorInfo{Name: def.name, Family: "window"})
	}
	slices.SortFunc(out, func(a, b OperatorInfo) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func windowParserOf(name string) windowParser {
	for _, def := range windowFunctions() {
		if def.name == name {
			return def.parse
		}
	}
	return nil
}

func parseWindowFunction(spec bsonx.Doc, order *windowSort, opts Options) (*windowFunction, error) {
	for it := spec.Iter(); it.Next(); {
		name := string(it.Key())
		if !strings.HasPrefix(name, "$") {
			continue
		}
		parse := windowParserOf(name)
		if parse == nil {
			return nil, mongoerr.New(mongoerr.FailedToParse, "Unrecognized window function, %s", name)
		}
		return parse(name, spec, order, opts)
	}
	return nil, mongoerr.New(mongoerr.FailedToParse, "Expected a $-prefixed window function")
}

// windowArguments returns the argument of the function and its window, which is missing where none is given.
func windowArguments(name string, spec bsonx.Doc) (arg, window bsonx.Value, err error) {
	seen := false
	for it := spec.Iter(); it.Next(); {
		key := string(it.Key())
		switch {
		case key == "window":
			window = it.Value()
		case key == name && !seen:
			arg, seen = it.Value(), true
		case windowParserOf(key) != nil:
			return arg, window, mongoerr.New(mongoerr.FailedToParse, "Cannot specify two functions in window function spec")
		default:
			return arg, window, mongoerr.New(mongoerr.FailedToParse, unknownBeside(name), key)
		}
	}
	return arg, window, nil
}

// unknownBeside is the text about a field beside a window function. Functions with a parser of their own within MongoDB have their own.
func unknownBeside(name string) string {
	switch name {
	case "$top", "$topN", "$bottom", "$bottomN", "$first", "$last", "$firstN", "$lastN", "$minN", "$maxN", "$median", "$percentile":
		return name + " got unexpected argument: %s"
	}
	return "Window function found an unknown argument: %s"
}

func noWindow(name string) string {
	if name == "$shift" {
		return "%s does not accept a 'window' field"
	}
	return "'window' field is not allowed in %s"
}

// onlyArgument is windowArguments for a function that takes no window.
func onlyArgument(name string, spec bsonx.Doc) (bsonx.Value, error) {
	arg, window, err := windowArguments(name, spec)
	if err == nil && !window.IsMissing() {
		err = mongoerr.New(mongoerr.FailedToParse, noWindow(name), name)
	}
	return arg, err
}

// bounded compiles the argument and the window, which is the whole partition where none is given. Of two mistakes the first counts.
func bounded(name string, spec bsonx.Doc, order *windowSort, compile func(arg bsonx.Value) error) (windowBounds, error) {
	bounds := wholePartition()
	arg, window, err := windowArguments(name, spec)
	it := spec.Iter()
	argumentFirst := it.Next() && string(it.Key()) == name
	if argumentFirst {
		if err := compile(arg); err != nil {
			return bounds, err
		}
	}
	if err != nil {
		return bounds, err
	}
	if !window.IsMissing() {
		if bounds, err = parseWindowBounds(window, order); err != nil {
			return bounds, err
		}
	}
	if !argumentFirst {
		err = compile(arg)
	}
	return bounds, err
}

func parseWindowAccumulator(name string, spec bsonx.Doc, order *windowSort, opts Options) (*windowFunction, error) {
	var acc *accumulator.Accumulation
	bounds, err := bounded(name, spec, order, func(arg bsonx.Value) (err error) {
		acc, err = windowAccumulation(name, arg, opts)
		return err
	})
	if err != nil {
		return nil, err
	}
	if name == "$first" || name == "$last" {
		return slidingFunction(bounds, acc.Arg, nil, order, func(*expr.Context) (windowState, error) {
			if bounds.lower.unbounded {
				return &endState{last: name == "$last"}, nil
			}
			return &slidingEnd{last: name == "$last"}, nil
		}).endsOnly(), nil
	}
	// The functions that MongoDB accumulates and never takes back are those whose windows begin with the partition.
	if bounds.lower.unbounded {
		return slidingFunction(bounds, acc.Arg, nil, order, func(ctx *expr.Context) (windowState, error) {
			a, err := acc.New(ctx, bsonx.Missing)
			return &accumulated{a}, err
		}), nil
	}
	return slidingFunction(bounds, acc.Arg, nil, order, func(ctx *expr.Context) (windowState, error) {
		if name == "$mergeObjects" {
			return nil, mongoerr.New(5461500, "Window function %s is not supported with a removable window", name)
		}
		return removableState(acc, ctx.Running), checkInit(acc, ctx)
	}), nil
}

// windowAccumulation compiles an accumulator. An array is its operand here, which $group refuses.
func windowAccumulation(name string, arg bsonx.Value, opts Options) (*accumulator.Accumulation, error) {
	if name == "$count" && (arg.Type != bsonx.TypeDocument || !arg.Doc().IsEmpty()) {
		return nil, mongoerr.New(mongoerr.FailedToParse, "$count only accepts an empty object as input")
	}
	if arg.Type != bsonx.TypeArray {
		return accumulator.ParseAccumulator(name, arg, opts.Vars)
	}
	acc, err := accumulator.ParseAccumulator(name, bsonx.Null, opts.Vars)
	if err != nil {
		return nil, err
	}
	e, err := expr.Parse(arg, opts.Vars)
	whole := *acc
	whole.Arg = e
	return &whole, err
}

// checkInit reports what is wrong with an accumulator's parameters, such as n.
func checkInit(acc *accumulator.Accumulation, ctx *expr.Context) error {
	_, err := acc.New(ctx, bsonx.Missing)
	return err
}
