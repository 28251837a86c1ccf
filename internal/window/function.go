package window

import (
	"context"
	"slices"
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/index"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// Partition is the documents of a partition. Functions ask for them in order.
type Partition interface {
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

// Exec computes a window function over one partition. If it keeps a value of a document that may have
// been released, it is a memory.Keeper.
type Exec interface {
	// Value returns the function's value at document i. It is called for all documents in order, and reads documents
	// from i on only: what it needs of earlier ones it keeps.
	Value(ctx context.Context, p Partition, i int) (bsonx.Value, error)
}

// Resettable is a windowExec that goes on with the next partition.
type Resettable interface{ Reset() }

// Function is a compiled window function.
type Function struct {
	Open    func(*expr.Context) (Exec, error) // for one partition
	Streams bool                              // it looks at the current document only
	Reads   []expr.Expr                       // what it computes of documents
}

// Order is what functions and bounds want to know of sortBy.
type Order struct {
	Fields    int
	By        expr.Expr // the value of the field, where there is one
	Key       index.Field
	Collation *collation.Collator
}

func (s *Order) single() bool { return s.Fields == 1 }

// parser compiles a function of that name; spec is the whole object, in which window may be beside the function.
type parser func(name string, spec bsonx.Doc, order *Order, vars *expr.Vars) (*Function, error)

// functions is the table of all window functions.
func functions() []Definition {
	return slices.Concat(
		[]Definition{
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
		accumulators(),
	)
}

type Definition struct {
	name  string
	parse parser
}

// Functions lists the functions of $setWindowFields by name.
func Functions() []expr.OperatorInfo {
	var out []expr.OperatorInfo
	for _, def := range functions() {
		out = append(out, expr.OperatorInfo{Name: def.name, Family: "window"})
	}
	slices.SortFunc(out, func(a, b expr.OperatorInfo) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func parserOf(name string) parser {
	for _, def := range functions() {
		if def.name == name {
			return def.parse
		}
	}
	return nil
}

func Parse(spec bsonx.Doc, order *Order, vars *expr.Vars) (*Function, error) {
	for it := spec.Iter(); it.Next(); {
		name := string(it.Key())
		if !strings.HasPrefix(name, "$") {
			continue
		}
		parse := parserOf(name)
		if parse == nil {
			return nil, mongoerr.New(mongoerr.FailedToParse, "Unrecognized window function, %s", name)
		}
		return parse(name, spec, order, vars)
	}
	return nil, mongoerr.New(mongoerr.FailedToParse, "Expected a $-prefixed window function")
}

// arguments returns the argument of the function and its window, which is missing where none is given.
func arguments(name string, spec bsonx.Doc) (arg, window bsonx.Value, err error) {
	seen := false
	for it := spec.Iter(); it.Next(); {
		key := string(it.Key())
		switch {
		case key == "window":
			window = it.Value()
		case key == name && !seen:
			arg, seen = it.Value(), true
		case parserOf(key) != nil:
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
	arg, window, err := arguments(name, spec)
	if err == nil && !window.IsMissing() {
		err = mongoerr.New(mongoerr.FailedToParse, noWindow(name), name)
	}
	return arg, err
}

// bounded compiles the argument and the window, which is the whole partition where none is given. Of two mistakes the first counts.
func bounded(name string, spec bsonx.Doc, order *Order, compile func(arg bsonx.Value) error) (frame, error) {
	bounds := wholePartition()
	arg, window, err := arguments(name, spec)
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
		if bounds, err = parseFrame(window, order); err != nil {
			return bounds, err
		}
	}
	if !argumentFirst {
		err = compile(arg)
	}
	return bounds, err
}
