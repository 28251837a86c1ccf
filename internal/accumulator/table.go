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

// Definition describes an accumulator. Exactly one of New and Parse is set.
type Definition struct {
	Name string
	// New returns an accumulator whose only argument is its operand.
	New func(c *collation.Collator) Accumulator
	// Parse compiles the use of an accumulator with other arguments.
	Parse func(name string, arg bsonx.Value, vars *expr.Vars) (*Accumulation, error)

	// Properties of the Accumulation, if New is set.
	FixedSize, Unordered, Once bool

	// Depends names the inputs of the result other than the operands. It has no default.
	Depends expr.Dependence
	// StableAPI tells whether the Stable API includes the accumulator. It has no default.
	StableAPI feature.Answer

	// Window tells which windows of $setWindowFields the accumulator can have. It has no default.
	Window Window

	// InputOrder tells whether $bucketAuto feeds the documents of a bucket to the accumulator in
	// their input order, not in the order of groupBy. The answers are the same as in MongoDB. It
	// has no default.
	InputOrder feature.Answer

	// Sole tells which document of a group alone determines the result. The optimiser uses it.
	Sole Sole

	// Arguments and Form determine the explained form, like the fields of expr.Definition.
	Arguments []string
	Form      func(s expr.SerialScope, arg bsonx.Value) bsonx.Value

	// Expression defines the expression of the same name. It is nil if this package has none.
	// Operators sets its Name.
	Expression *expr.Definition
}

// Window tells which windows of $setWindowFields an accumulator can have.
type Window byte

// Values of Window.
const (
	_         Window = iota
	NoWindow         // not a window function
	OwnWindow        // internal/window defines the function
	// AnyWindow allows every window. The function recomputes the value over the whole window for
	// each document.
	AnyWindow
	// WholeWindow allows only windows that begin with the partition, because MongoDB does not
	// recompute the value.
	WholeWindow
)

// Sole tells which document of a group alone determines the result of an accumulator.
type Sole byte

// Values of Sole.
const (
	NoDocument    Sole = iota // no single document does, or that is not known
	FirstDocument             // the first document of the group
	LastDocument              // the last document of the group
)

// definitions returns the definitions of all accumulators.
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

// List returns the accumulators of MongoDB 8.0, sorted by name.
func List() []feature.Info {
	var out []feature.Info
	for _, def := range definitions() {
		out = append(out, feature.Info{Name: def.Name, Family: "accumulator"})
	}
	slices.SortFunc(out, func(a, b feature.Info) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// Operators returns the definitions of the accumulators that are also expressions.
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

// Windowed returns the definitions of the accumulators that are also window functions without
// additional code.
func Windowed() []Definition {
	return slices.DeleteFunc(definitions(), func(def Definition) bool {
		return def.Window != AnyWindow && def.Window != WholeWindow
	})
}

// Unrepeatable returns the names of the accumulators whose result may differ when they run again.
func Unrepeatable() []string {
	var names []string
	for _, def := range definitions() {
		if !def.Depends.Repeatable() {
			names = append(names, def.Name)
		}
	}
	return names
}

// overOperands defines an accumulator also as an expression over its operands. A single operand
// that is an array stands for its elements.
func overOperands(how expr.Association) *expr.Definition {
	return &expr.Definition{
		Family: "accumulator", Max: -1, Association: how,
		Total: feature.No, Folds: feature.Yes, Depends: expr.OnOperands, StableAPI: feature.Yes,
	}
}

// over returns the accumulator as a function of operands. A single operand that is an array stands
// for its elements.
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
