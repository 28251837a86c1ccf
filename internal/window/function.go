package window

import (
	"cmp"
	"context"
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

// Exec computes a window function over one partition. If it keeps a value of a document that may
// have been released, it is a memory.Keeper.
type Exec interface {
	// Value returns the function's value at document i. It is called for all documents in order,
	// and reads documents from i on only: what it needs of earlier ones it keeps.
	Value(ctx context.Context, p Partition, i int) (bsonx.Value, error)
}

// Resettable is an Exec that goes on with the next partition.
type Resettable interface{ Reset() }

// Function is a compiled window function.
type Function struct {
	// Open begins a partition.
	Open func(*expr.Context) (Exec, error)
	// Streams says that the function looks at the current document only.
	Streams bool
	// Reads are the expressions that the function computes for documents.
	Reads []expr.Expr
}

// Order is the sortBy of the stage, as functions and bounds need it.
type Order struct {
	// Fields is the number of fields.
	Fields int
	// By is the value of the last field.
	By expr.Expr
	// Key is the last field.
	Key       index.Field
	Collation *collation.Collator
}

func (s *Order) single() bool { return s.Fields == 1 }

// Parse compiles the use of a function, {$sum: "$a", window: …}, in the order of sortBy.
func Parse(spec bsonx.Doc, order *Order, vars *expr.Vars) (*Function, error) {
	for it := spec.Iter(); it.Next(); {
		name := string(it.Key())
		if !strings.HasPrefix(name, "$") {
			continue
		}
		def := find(name)
		if def == nil {
			return nil, mongoerr.New(mongoerr.FailedToParse, "Unrecognized window function, %s", name)
		}
		return def.Parse(def, spec, order, vars)
	}
	return nil, mongoerr.New(mongoerr.FailedToParse, "Expected a $-prefixed window function")
}

// arguments returns the argument of the function and its window, which is missing where none is
// given.
func (d *definition) arguments(spec bsonx.Doc) (arg, window bsonx.Value, err error) {
	seen := false
	for it := spec.Iter(); it.Next(); {
		key := string(it.Key())
		switch {
		case key == "window":
			window = it.Value()
		case key == d.Name && !seen:
			arg, seen = it.Value(), true
		case find(key) != nil:
			return arg, window, mongoerr.New(mongoerr.FailedToParse,
				"Cannot specify two functions in window function spec")
		default:
			return arg, window, d.unknown(key)
		}
	}
	return arg, window, nil
}

// unknown is the error for a field beside the function.
func (d *definition) unknown(field string) error {
	if d.OwnParser {
		return mongoerr.New(mongoerr.FailedToParse, "%s got unexpected argument: %s", d.Name, field)
	}
	return mongoerr.New(mongoerr.FailedToParse, "Window function found an unknown argument: %s", field)
}

// onlyArgument is arguments for a function that takes no window.
func (d *definition) onlyArgument(spec bsonx.Doc) (bsonx.Value, error) {
	arg, window, err := d.arguments(spec)
	if err == nil && !window.IsMissing() {
		err = mongoerr.New(mongoerr.FailedToParse, cmp.Or(d.NoWindow, "'window' field is not allowed in %s"), d.Name)
	}
	return arg, err
}

// bounded compiles the argument and the window, which is the whole partition where none is given.
// Of two mistakes the first counts.
func (d *definition) bounded(spec bsonx.Doc, order *Order, compile func(arg bsonx.Value) error) (frame, error) {
	bounds := wholePartition()
	arg, window, err := d.arguments(spec)
	it := spec.Iter()
	argumentFirst := it.Next() && string(it.Key()) == d.Name
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
