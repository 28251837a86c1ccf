package accumulator

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/numeric"
)

func sumDefinition() Definition {
	return Definition{
		Name: "$sum", New: func(*collation.Collator) Accumulator { return &sumAccumulator{} },
		FixedSize: true, Unordered: true,
		Depends: expr.OnOperands, StableAPI: feature.Yes, Window: OwnWindow, InputOrder: feature.No,
		Expression: overOperands(expr.Commutable),
	}
}

// sumAccumulator is $sum or $count. It ignores values that are not numbers.
type sumAccumulator struct{ sum numeric.Sum }

func (a *sumAccumulator) Add(v bsonx.Value) error { a.sum.Add(v); return nil }
func (a *sumAccumulator) Result() bsonx.Value     { return a.sum.Result() }
func (a *sumAccumulator) Bytes() int              { return 160 }
func (a *sumAccumulator) State() bsonx.Value      { return a.sum.State() }

func (a *sumAccumulator) Merge(state bsonx.Value) error {
	a.sum.Merge(state)
	return nil
}
