package pipeline

import (
	"context"
	"slices"
	"strings"

	"github.com/sheafdb/sheaf/internal/accumulator"
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/index"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// partition is the documents of a partition. Functions ask for them in order.
type partition interface {
	// Has reports whether there is a document i, and reads up to it.
	Has(ctx context.Context, i int) (bool, error)
	// Document returns document i, which is valid until the next call.
	Document(i int) (bsonx.Doc, error)
	// Meta returns the metadata of the document that was read last.
	Meta() *expr.Meta
	// Eval computes an expression for document i.
	Eval(e expr.Expr, i int) (bsonx.Value, error)
	// Reserve holds n bytes that are about to be copied, and are counted with Grow after that.
	Reserve(n int) error
	// Grow counts n bytes, which may be negative, that a function keeps.
	Grow(n int) error
	// Shrink takes back n bytes that were counted.
	Shrink(n int)
	// Did counts work, and now and then returns the error of an operation that has ended.
	Did(work int) error
}

// windowExec computes a window function over one partition. If it keeps a value of a document that may have
// been released, it is a memory.Keeper.
type windowExec interface {
	// Value returns the function's value at document i. It is called for all documents in order, and reads documents
	// from i on only: what it needs of earlier ones it keeps.
	Value(ctx context.Context, p partition, i int) (bsonx.Value, error)
}

// resettable is a windowExec that goes on with the next partition.
type resettable interface{ Reset() }

// windowFunction is a compiled window function.
type windowFunction struct {
	open    func(*expr.Context) (windowExec, error) // for one partition
	streams bool                                    // it looks at the current document only
	reads   []expr.Expr                             // what it computes of documents
}

// windowSort is what functions and bounds want to know of sortBy.
type windowSort struct {
	fields    int
	by        expr.Expr // the value of the field, where there is one
	key       index.Field
	collation *collation.Collator
}

func (s *windowSort) single() bool { return s.fields == 1 }

// windowParser compiles a function of that name; spec is the whole object, in which window may be beside the function.
type windowParser func(name string, spec bsonx.Doc, order *windowSort, vars *expr.Vars) (*windowFunction, error)

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
func WindowFunctions() []expr.OperatorInfo {
	var out []expr.OperatorInfo
	for _, def := range windowFunctions() {
		out = append(out, expr.OperatorInfo{Name: def.name, Family: "window"})
	}
	slices.SortFunc(out, func(a, b expr.OperatorInfo) int { return strings.Compare(a.Name, b.Name) })
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

func parseWindowFunction(spec bsonx.Doc, order *windowSort, vars *expr.Vars) (*windowFunction, error) {
	for it := spec.Iter(); it.Next(); {
		name := string(it.Key())
		if !strings.HasPrefix(name, "$") {
			continue
		}
		parse := windowParserOf(name)
		if parse == nil {
			return nil, mongoerr.New(mongoerr.FailedToParse, "Unrecognized window function, %s", name)
		}
		return parse(name, spec, order, vars)
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

func parseWindowAccumulator(name string, spec bsonx.Doc, order *windowSort, vars *expr.Vars) (*windowFunction, error) {
	var acc *accumulator.Accumulation
	bounds, err := bounded(name, spec, order, func(arg bsonx.Value) (err error) {
		acc, err = windowAccumulation(name, arg, vars)
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
func windowAccumulation(name string, arg bsonx.Value, vars *expr.Vars) (*accumulator.Accumulation, error) {
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
