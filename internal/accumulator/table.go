package accumulator

import (
	"slices"
	"strings"
	"sync"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/interrupt"
)

// Definition is one accumulator. It has New or Parse.
type Definition struct {
	Name string
	// New returns an accumulator whose only argument is the value that it adds.
	New func(c *collation.Collator) Accumulator
	// Parse compiles a use of an accumulator with other arguments.
	Parse func(name string, arg bsonx.Value, vars *expr.Vars) (*Accumulation, error)

	// The properties of its Accumulation, where it has New.
	FixedSize, Unordered, Once bool

	// Expression says that an accumulator with New is an expression too, over its operands or over
	// the elements of one operand that is an array.
	Expression bool
	// Association says which operands of the expression may be combined when it is compiled.
	Association expr.Association
}

// definitions lists the definition of every accumulator.
func definitions() []Definition {
	return []Definition{
		sumDefinition(), countDefinition(), avgDefinition(), minDefinition(), maxDefinition(),
		stdDevPopDefinition(), stdDevSampDefinition(), firstDefinition(), lastDefinition(),
		pushDefinition(), addToSetDefinition(), mergeObjectsDefinition(), accumulatorDefinition(),
		topDefinition(), topNDefinition(), bottomDefinition(), bottomNDefinition(),
		firstNDefinition(), lastNDefinition(), minNDefinition(), maxNDefinition(),
		percentileDefinition(), medianDefinition(),
	}
}

var table = sync.OnceValue(func() map[string]Definition {
	byName := map[string]Definition{}
	for _, def := range definitions() {
		byName[def.Name] = def
	}
	return byName
})

// List describes the accumulators of MongoDB 8.0 in the order of their names.
func List() []expr.OperatorInfo {
	var out []expr.OperatorInfo
	for _, def := range definitions() {
		out = append(out, expr.OperatorInfo{Name: def.Name, Family: "accumulator"})
	}
	slices.SortFunc(out, func(a, b expr.OperatorInfo) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// Operators returns the definitions of the accumulators that are expressions too.
func Operators() []expr.Definition {
	defs := append(pickOperators(), percentileOperators()...)
	for _, def := range definitions() {
		if def.Expression {
			defs = append(defs, expr.CollateAssociative(def.Name, "accumulator", def.Association, def.over))
		}
	}
	return defs
}

// over returns the accumulator as a function of its operands, or of the elements of one that is an
// array.
func (d *Definition) over(c *collation.Collator) expr.WatchingN {
	return func(args []bsonx.Value, running *interrupt.Running) (bsonx.Value, error) {
		list := args
		if len(args) == 1 && args[0].Type == bsonx.TypeArray {
			var err error
			if list, err = expr.Elements(args[0].Doc(), running); err != nil {
				return bsonx.Missing, err
			}
		}
		acc := d.New(c)
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
