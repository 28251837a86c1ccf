package window

import (
	"slices"
	"strings"
	"sync"

	"github.com/sheafdb/sheaf/internal/accumulator"
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/interrupt"
)

// definition describes a window function.
type definition struct {
	Name string
	// Parse compiles a use of the function. spec is the whole object, which may contain the field
	// "window" too.
	Parse parseFunc
	// Slide returns the state of an accumulator in a window that documents leave. If it is nil, the
	// accumulator runs over the whole window again for each document.
	Slide func(acc *accumulator.Accumulation, running *interrupt.Running) state
	// Unremovable reports whether the window of the accumulator must begin with the partition.
	Unremovable bool
	// OwnParser reports whether MongoDB has a separate parser for the function, which names the
	// function in the error for an unknown field.
	OwnParser bool
	// NoWindow is the error text if a window is given to a function that does not allow one; empty
	// means the usual text.
	NoWindow string
	// Form returns the explained form of the argument. If it is nil, the function is shown as the
	// accumulator of its name.
	Form func(e expr.Serializer, arg bsonx.Value) bsonx.Value
	// Windowless reports whether the function has no window. Explain shows the window of the other
	// functions.
	Windowless bool
}

// parseFunc compiles a use of a window function.
type parseFunc func(def *definition, spec bsonx.Doc, order *Order, vars *expr.Vars) (*Function, error)

// table is filled at the first use. A plain variable would be an initialization cycle, because the
// functions refer to the table.
var table struct {
	once sync.Once
	defs []definition
}

// definitions returns the definitions of all window functions.
func definitions() []definition {
	table.once.Do(func() { table.defs = listed() })
	return table.defs
}

func listed() []definition {
	return slices.Concat(
		covarianceFunctions(), derivativeFunctions(), integralFunctions(), rankFunctions(), shiftFunctions(),
		expMovingAvgFunctions(), locfFunctions(), linearFillFunctions(),
		sumFunctions(), avgFunctions(), minFunctions(), firstFunctions(), addToSetFunctions(), stdDevFunctions(),
		accumulatorFunctions(),
	)
}

// find returns the definition of a function, or nil if the function is unknown.
func find(name string) *definition {
	defs := definitions()
	for i := range defs {
		if defs[i].Name == name {
			return &defs[i]
		}
	}
	return nil
}

// Functions returns the window functions of $setWindowFields, sorted by name.
func Functions() []feature.Info {
	var out []feature.Info
	for _, def := range definitions() {
		out = append(out, feature.Info{Name: def.Name, Family: "window"})
	}
	slices.SortFunc(out, func(a, b feature.Info) int { return strings.Compare(a.Name, b.Name) })
	return out
}
