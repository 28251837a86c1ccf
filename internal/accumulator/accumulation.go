package accumulator

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// Accumulator gathers the values of a group. It is used by one goroutine.
type Accumulator interface {
	// Add takes one document's value, which may be missing; the accumulator copies what it keeps.
	Add(v bsonx.Value) error
	// Result returns what was gathered. Adding may go on after it, and changes no earlier result.
	Result() bsonx.Value
	// Bytes is about how much memory is kept.
	Bytes() int
	// State returns what was gathered as a value that Merge takes.
	State() bsonx.Value
	// Merge adds what another accumulator of the same Accumulation gathered, from later documents.
	Merge(state bsonx.Value) error
}

// finisher is an Accumulator that puts work off which may fail. State and Result are valid after
// Finish.
type finisher interface {
	Accumulator
	// Finish does the work; last says that the result is wanted, else the state is.
	Finish(last bool) error
}

// Finish readies an accumulator for Result, where last is set, or for State.
func Finish(a Accumulator, last bool) error {
	if f, ok := a.(finisher); ok {
		return f.Finish(last)
	}
	return nil
}

// Sater is an Accumulator that may have all that it takes.
type Sater interface {
	Accumulator
	// Sated reports whether adding changes nothing any more.
	Sated() bool
}

// Accumulation is a compiled use of an accumulator. It is immutable.
type Accumulation struct {
	Name string
	// Arg is what Add takes, computed for each document.
	Arg expr.Expr
	// Init is computed once for each group, with the group's _id as the document; nil where there
	// is nothing to compute.
	Init expr.Expr
	// FixedSize says that Bytes is always the same.
	FixedSize bool
	// Unordered says that the order of the documents does not show in the result: but for which of
	// several equal numbers it is, and the last digit of a sum of doubles.
	Unordered bool

	// Collation is what values are compared by.
	Collation *collation.Collator

	// Once says that an accumulator that is Sated takes no more values: Arg need not be computed
	// for it.
	Once bool

	plain func() Accumulator // nil where Init is not constant
	start func(init bsonx.Value) (Accumulator, error)
}

// New returns an accumulator for the group with the given _id. The context's document is set anew.
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

// Parse compiles {name: arg} as a field of $group.
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
	if def.Parse != nil {
		return def.Parse(name, arg, vars)
	}
	e, err := expr.Parse(arg, vars)
	if err != nil {
		return nil, err
	}
	c := vars.Collation()
	return &Accumulation{
		Name: name, Arg: e, Collation: c, FixedSize: def.FixedSize, Unordered: def.Unordered, Once: def.Once,
		plain: func() Accumulator { return def.New(c) },
	}, nil
}

// Serialize writes the use of an accumulator as explain shows it: {$sum: "$a"}.
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
