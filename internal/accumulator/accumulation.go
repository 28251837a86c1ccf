package accumulator

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// Accumulator collects the values of one group. It is used by one goroutine.
type Accumulator interface {
	// Add adds the value of one document, which may be missing. The accumulator copies what it
	// keeps.
	Add(v bsonx.Value) error
	// Result returns the result for the values added so far. More values may be added after it;
	// they do not change an earlier result.
	Result() bsonx.Value
	// Bytes estimates the memory that the accumulator uses, in bytes.
	Bytes() int
	// State returns the intermediate state as a value for Merge.
	State() bsonx.Value
	// Merge adds the state of another accumulator of the same Accumulation, whose values come from
	// later documents.
	Merge(state bsonx.Value) error
}

// finisher is an Accumulator that delays work which may fail. Result and State are valid after
// Finish.
type finisher interface {
	Accumulator
	// Finish does the delayed work. If last is true, Result is called next, otherwise State.
	Finish(last bool) error
}

// Finish prepares an accumulator for Result if last is true, and for State otherwise.
func Finish(a Accumulator, last bool) error {
	if f, ok := a.(finisher); ok {
		return f.Finish(last)
	}
	return nil
}

// Sater is an Accumulator whose result may become independent of further values.
type Sater interface {
	Accumulator
	// Sated reports whether further values cannot change the result.
	Sated() bool
}

// Accumulation is a compiled use of an accumulator, such as {$sum: "$price"}. It is immutable.
type Accumulation struct {
	Name string
	// Arg is the operand. Its value for each document is passed to Add.
	Arg expr.Expr
	// Init is the expression of a parameter, such as n. It is evaluated once for each group, with
	// the group's _id as the document. It is nil if the accumulator has no parameter.
	Init expr.Expr
	// FixedSize reports whether Bytes never changes.
	FixedSize bool
	// Unordered reports whether the result does not depend on the order of documents. Two
	// differences are accepted: the numeric type of an extreme, if equal numbers differ in type,
	// and the last digit of a sum of doubles.
	Unordered bool

	// Collation compares strings; nil means binary comparison.
	Collation *collation.Collator

	// Once reports that Arg need not be evaluated for an accumulator that is Sated.
	Once bool

	// InputOrder and Sole are the properties of the Definition.
	InputOrder bool
	Sole       Sole

	plain func() Accumulator // creates an accumulator; nil if Init must be evaluated
	start func(init bsonx.Value) (Accumulator, error)
}

// New returns an accumulator for the group with the given _id. If Init must be evaluated, New sets
// ctx.Root to the _id.
func (a *Accumulation) New(ctx *expr.Context, id bsonx.Value) (Accumulator, error) {
	if a.plain != nil {
		return a.plain(), nil
	}
	ctx.Root = bsonx.Document(bsonx.Empty)
	if id.Type == bsonx.TypeDocument {
		ctx.Root = id
	}
	init, err := a.Init.Eval(ctx)
	if err != nil {
		return nil, err
	}
	return a.start(init)
}

// Parse compiles {name: arg} as a field of $group. It fails if the accumulator is unknown or its
// argument is invalid.
func Parse(name string, arg bsonx.Value, vars *expr.Vars) (*Accumulation, error) {
	if arg.Type == bsonx.TypeArray {
		return nil, mongoerr.New(40237, "The %s accumulator is a unary operator", name)
	}
	def, ok := table()[name]
	if !ok {
		return nil, mongoerr.New(15952, "unknown group operator '%s'", name)
	}
	if def.StableAPI != feature.Yes {
		if err := vars.CheckStable(name); err != nil {
			return nil, err
		}
	}
	acc, err := def.parse(name, arg, vars)
	if err != nil {
		return nil, err
	}
	acc.InputOrder, acc.Sole = def.InputOrder == feature.Yes, def.Sole
	return acc, nil
}

func (d *Definition) parse(name string, arg bsonx.Value, vars *expr.Vars) (*Accumulation, error) {
	if d.Parse != nil {
		return d.Parse(name, arg, vars)
	}
	return d.parseOperand(name, arg, vars)
}

// parseOperand compiles the use of an accumulator whose only argument is its operand.
func (d *Definition) parseOperand(name string, arg bsonx.Value, vars *expr.Vars) (*Accumulation, error) {
	e, err := expr.Parse(arg, vars)
	if err != nil {
		return nil, err
	}
	c, create := vars.Collation(), d.New
	return &Accumulation{
		Name: name, Arg: e, Collation: c, FixedSize: d.FixedSize, Unordered: d.Unordered, Once: d.Once,
		plain: func() Accumulator { return create(c) },
	}, nil
}

// Serialize returns the explained form of an accumulator with its argument, such as {$sum: "$a"}.
func Serialize(s expr.Serializer, name string, arg bsonx.Value) bsonx.Value {
	def, scope := table()[name], expr.SerialScope{Serializer: s}
	switch {
	case def.Form != nil:
		return def.Form(scope, arg)
	case def.Arguments != nil && arg.Type == bsonx.TypeDocument:
		form, _ := scope.Arguments(arg.Doc(), def.Arguments)
		return bsonx.Document(bsonx.NewDoc(name, form))
	default:
		return bsonx.Document(bsonx.NewDoc(name, scope.Operand(expr.Sole(arg)).Value()))
	}
}
