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

// definition is one window function.
type definition struct {
	Name string
	// Parse compiles a use. spec is the whole object, in which window may stand beside the
	// function.
	Parse func(def *definition, spec bsonx.Doc, order *Order, vars *expr.Vars) (*Function, error)
	// Slide returns the state of an accumulator in a window whose documents leave it. If it is nil,
	// the accumulator is computed again for each document.
	Slide func(acc *accumulator.Accumulation, running *interrupt.Running) state
	// Unremovable says that the window of an accumulator must begin with the partition.
	Unremovable bool
	// OwnParser says that MongoDB parses the function apart, and names it in the error about an
	// unknown field.
	OwnParser bool
	// NoWindow is the text about a window, other than the usual one, for a function that takes
	// none.
	NoWindow string
}

// table is filled by definitions: the functions refer to each other.
var table struct {
	once sync.Once
	defs []definition
}

// definitions lists the definition of every function.
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

// find returns the definition of a function, or nil.
func find(name string) *definition {
	defs := definitions()
	for i := range defs {
		if defs[i].Name == name {
			return &defs[i]
		}
	}
	return nil
}

// Functions lists the functions of $setWindowFields by name.
func Functions() []feature.Info {
	var out []feature.Info
	for _, def := range definitions() {
		out = append(out, feature.Info{Name: def.Name, Family: "window"})
	}
	slices.SortFunc(out, func(a, b feature.Info) int { return strings.Compare(a.Name, b.Name) })
	return out
}
