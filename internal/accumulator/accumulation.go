package accumulator

import (
	"slices"
	"strings"
	"sync"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/interrupt"
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

// Finisher is an Accumulator that puts work off which may fail. State and Result are valid after Finish.
type Finisher interface {
	Accumulator
	// Finish does the work; last says that the result is wanted, else the state is.
	Finish(last bool) error
}

// Finish readies an accumulator for Result, where last is set, or for State.
func Finish(a Accumulator, last bool) error {
	if f, ok := a.(Finisher); ok {
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

// Remover is an Accumulator that can take values away again, for windows that slide.
type Remover interface {
	Accumulator
	// Remove takes away a value that was added.
	Remove(v bsonx.Value) error
}

// Accumulation is a compiled use of an accumulator. It is immutable.
type Accumulation struct {
	Name string
	// Arg is what Add takes, computed for each document.
	Arg expr.Expr
	// Init is computed once for each group, with the group's _id as the document; nil where there is nothing to compute.
	Init expr.Expr
	// FixedSize says that Bytes is always the same.
	FixedSize bool
	// Unordered says that the order of the documents does not show in the result: but for which of several equal numbers it
	// is, and the last digit of a sum of doubles.
	Unordered bool

	// Collation is what values are compared by.
	Collation *collation.Collator

	// Once says that an accumulator that is Sated takes no more values: Arg need not be computed for it.
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

// Definition is the definition of one accumulator: one operand and no more, or a parser of its own.
type Definition struct {
	name  string
	make  func(c *collation.Collator) Accumulator
	parse func(name string, arg bsonx.Value, vars *expr.Vars) (*Accumulation, error)
	fixed bool
	// unordered is Accumulation.Unordered.
	unordered bool
}

const operatorCount = 6

// plainAccumulators are those that take one operand; the first operatorCount are operators too.
func plainAccumulators() []Definition {
	return []Definition{
		{name: "$sum", make: func(*collation.Collator) Accumulator { return &sumAccumulator{} }, fixed: true, unordered: true},
		{name: "$avg", make: func(*collation.Collator) Accumulator { return &avgAccumulator{} }, fixed: true, unordered: true},
		{name: "$min", make: func(c *collation.Collator) Accumulator { return &extreme{sign: -1, collation: c} }, unordered: true},
		{name: "$max", make: func(c *collation.Collator) Accumulator { return &extreme{sign: 1, collation: c} }, unordered: true},
		{name: "$stdDevPop", make: func(*collation.Collator) Accumulator { return &deviation{} }, fixed: true},
		{name: "$stdDevSamp", make: func(*collation.Collator) Accumulator { return &deviation{sample: true} }, fixed: true},
		{name: "$first", make: func(*collation.Collator) Accumulator { return &endAccumulator{first: true} }},
		{name: "$last", make: func(*collation.Collator) Accumulator { return &endAccumulator{} }},
		{name: "$push", make: func(*collation.Collator) Accumulator { return &pushAccumulator{} }},
		{name: "$addToSet", make: func(c *collation.Collator) Accumulator { return &setAccumulator{collation: c} }},
		{name: "$mergeObjects", make: func(*collation.Collator) Accumulator { return &mergeAccumulator{} }},
	}
}

var accumulators = sync.OnceValue(func() map[string]Definition {
	table := map[string]Definition{}
	for _, a := range plainAccumulators() {
		table[a.name] = a
	}
	for name, parse := range map[string]func(string, bsonx.Value, *expr.Vars) (*Accumulation, error){
		"$accumulator": parseScripted,
		"$bottom":      parseTop,
		"$bottomN":     parseTop,
		"$count":       parseCount,
		"$firstN":      parseN,
		"$lastN":       parseN,
		"$maxN":        parseN,
		"$median":      parsePercentiles,
		"$minN":        parseN,
		"$percentile":  parsePercentiles,
		"$top":         parseTop,
		"$topN":        parseTop,
	} {
		table[name] = Definition{name: name, parse: parse}
	}
	return table
})

// Accumulators lists the accumulators of MongoDB 8.0 by name.
func Accumulators() []expr.OperatorInfo {
	var out []expr.OperatorInfo
	for name := range accumulators() {
		out = append(out, expr.OperatorInfo{Name: name, Family: "accumulator"})
	}
	slices.SortFunc(out, func(a, b expr.OperatorInfo) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// ParseAccumulator compiles {name: arg} as a field of $group.
func ParseAccumulator(name string, arg bsonx.Value, vars *expr.Vars) (*Accumulation, error) {
	if arg.Type == bsonx.TypeArray {
		return nil, mongoerr.New(40237, "The %s accumulator is a unary operator", name)
	}
	a, ok := accumulators()[name]
	if !ok {
		return nil, mongoerr.New(15952, "unknown group operator '%s'", name)
	}
	if a.parse != nil {
		return a.parse(name, arg, vars)
	}
	e, err := expr.Parse(arg, vars)
	if err != nil {
		return nil, err
	}
	c := vars.Collation()
	plain := func() Accumulator { return a.make(c) }
	return &Accumulation{Name: name, Arg: e, FixedSize: a.fixed, Unordered: a.unordered, Once: name == "$first", Collation: c, plain: plain}, nil
}

// Operators returns the definitions of the accumulators that are expressions too.
func Operators() []expr.Definition {
	return slices.Concat(accumulatorOperators(), pickOperators(), percentileOperators())
}

// accumulatorOperators are the accumulators that are expressions too.
func accumulatorOperators() []expr.Definition {
	var defs []expr.Definition
	for _, a := range plainAccumulators()[:operatorCount] {
		how := expr.AssocNone
		switch a.name {
		case "$sum", "$min", "$max":
			how = expr.Commutable
		}
		defs = append(defs, expr.CollateAssociative(a.name, "accumulator", how, a.over))
	}
	return defs
}

// over returns the accumulator as a function of its operands, or of the elements of one that is an array.
func (a Definition) over(c *collation.Collator) expr.WatchingN {
	return func(args []bsonx.Value, running *interrupt.Running) (bsonx.Value, error) {
		list := args
		if len(args) == 1 && args[0].Type == bsonx.TypeArray {
			var err error
			if list, err = expr.Elements(args[0].Doc(), running); err != nil {
				return bsonx.Missing, err
			}
		}
		acc := a.make(c)
		var meter interrupt.Meter
		for _, v := range list {
			if err := meter.Did(interrupt.Step, running); err != nil {
				return bsonx.Missing, err
			}
			if err := acc.Add(v); err != nil {
				return bsonx.Missing, err
			}
		}
		return acc.Result(), nil
	}
}
