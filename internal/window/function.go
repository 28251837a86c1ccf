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

// Partition provides the documents of a partition, in order.
type Partition interface {
	// Has reports whether the partition has a document with index i, and reads the input up to it.
	Has(ctx context.Context, i int) (bool, error)
	// Document returns the document with index i. It is valid until the next call.
	Document(i int) (bsonx.Doc, error)
	// Meta returns the metadata of the document that was read last.
	Meta() *expr.Meta
	// Eval evaluates e for the document with index i.
	Eval(e expr.Expr, i int) (bsonx.Value, error)
	// Reserve reserves n bytes before a value of n bytes is copied. After the copy, the function
	// adds its size with Grow.
	Reserve(n int) error
	// Grow adds n bytes, which may be negative, to the memory that functions use. It fails above
	// the memory limit.
	Grow(n int) error
	// Shrink subtracts n bytes that a function has released.
	Shrink(n int)
	// Did adds work of the function, and checks from time to time whether the operation was
	// interrupted.
	Did(work int) error
}

// Exec computes a window function over one partition. An Exec that keeps bytes without counting
// them with Partition.Grow must implement memory.Keeper.
type Exec interface {
	// Value returns the result for the document with index i. It is called for all documents in
	// order. It reads only documents from i on, and keeps the values of earlier ones that it needs.
	Value(ctx context.Context, p Partition, i int) (bsonx.Value, error)
}

// Resettable is an Exec that can be reused for the next partition.
type Resettable interface{ Reset() }

// Function is a compiled window function.
type Function struct {
	// Open creates an Exec for a new partition.
	Open func(*expr.Context) (Exec, error)
	// Streams reports whether the function reads only the current document.
	Streams bool
	// Reads lists the expressions that the function evaluates for documents.
	Reads []expr.Expr
}

// Order describes the sortBy of the stage.
type Order struct {
	// Fields is the number of fields in sortBy.
	Fields int
	// By is the expression for the value of the last field.
	By expr.Expr
	// Key is the last field.
	Key       index.Field
	Collation *collation.Collator
}

func (s *Order) single() bool { return s.Fields == 1 }

// Parse compiles the use of a function, such as {$sum: "$a", window: …}. order is the sortBy of the
// stage.
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

// arguments returns the argument of the function and its window, which is bsonx.Missing if absent.
// It fails if spec has other fields.
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

// unknown returns the error for an additional field in the specification.
func (d *definition) unknown(field string) error {
	if d.OwnParser {
		return mongoerr.New(mongoerr.FailedToParse, "%s got unexpected argument: %s", d.Name, field)
	}
	return mongoerr.New(mongoerr.FailedToParse, "Window function found an unknown argument: %s", field)
}

// onlyArgument returns the argument of a function that does not allow a window.
func (d *definition) onlyArgument(spec bsonx.Doc) (bsonx.Value, error) {
	arg, window, err := d.arguments(spec)
	if err == nil && !window.IsMissing() {
		err = mongoerr.New(mongoerr.FailedToParse, cmp.Or(d.NoWindow, "'window' field is not allowed in %s"), d.Name)
	}
	return arg, err
}

// bounded compiles the argument with compile, and the window. Without a window the frame is the
// whole partition. If both have errors, bounded returns the error of the field that comes first.
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
