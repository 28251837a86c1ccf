package accumulator

import (
	"slices"
	"strings"
	"sync"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
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

	// Depends says what decides the result apart from the values. It has no default.
	Depends expr.Dependence
	// StableAPI says that the stable API has the accumulator. It has no default.
	StableAPI feature.Answer

	// Window says which windows of $setWindowFields the accumulator may have. It has no default.
	Window Window

	// Arguments and Form are what explain shows, as those of expr.Definition.
	Arguments []string
	Form      func(s expr.SerialScope, arg bsonx.Value) bsonx.Value

	// Expression defines the expression of the same name; nil if there is none here. It has no
	// name of its own.
	Expression *expr.Definition
}

// Window says which windows an accumulator may have. The zero value says nothing.
type Window byte

// The windows of an accumulator.
const (
	_           Window = iota
	NoWindow           // it is no window function
	OwnWindow          // internal/window defines the function
	AnyWindow          // it is computed again for each document, from the whole window
	WholeWindow        // the window begins with the partition: MongoDB does not compute it again
)

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
func List() []feature.Info {
	var out []feature.Info
	for _, def := range definitions() {
		out = append(out, feature.Info{Name: def.Name, Family: "accumulator"})
	}
	slices.SortFunc(out, func(a, b feature.Info) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// Operators returns the definitions of the accumulators that are expressions too.
func Operators() []expr.Definition {
	var defs []expr.Definition
	for _, def := range definitions() {
		if def.Expression == nil {
			continue
		}
		e := *def.Expression
		e.Name = def.Name
		if e.Parse == nil {
			e.Parse = expr.CollateN(def.over)
		}
		defs = append(defs, e)
	}
	return defs
}

// Windowed returns the definitions of the accumulators that are window functions without more code.
func Windowed() []Definition {
	return slices.DeleteFunc(definitions(), func(def Definition) bool {
		return def.Window != AnyWindow && def.Window != WholeWindow
	})
}

// Unrepeatable returns the names of the accumulators that give another result the next time.
func Unrepeatable() []string {
	var names []string
	for _, def := range definitions() {
		if !def.Depends.Repeatable() {
			names = append(names, def.Name)
		}
	}
	return names
}

// overOperands defines an accumulator with New as an expression over its operands, or over the
// elements of one operand that is an array.
func overOperands(how expr.Association) *expr.Definition {
	return &expr.Definition{
		Family: "accumulator", Max: -1, Association: how,
		Total: feature.No, Folds: feature.Yes, Depends: expr.OnOperands, StableAPI: feature.Yes,
	}
}

// over returns the accumulator as a function of its operands, or of the elements of one that is an array.
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
