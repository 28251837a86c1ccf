package accumulator

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/numeric"
)

func avgDefinition() Definition {
	return Definition{
		Name: "$avg", New: func(*collation.Collator) Accumulator { return &avgAccumulator{} },
		FixedSize: true, Unordered: true,
		Depends: expr.OnOperands, StableAPI: feature.Yes, Window: OwnWindow, InputOrder: feature.No,
		Expression: overOperands(expr.AssocNone),
	}
}

// avgAccumulator is $avg. It ignores values that are not numbers.
type avgAccumulator struct {
	sum   numeric.Sum
	count int64
}

func (a *avgAccumulator) Add(v bsonx.Value) error {
	if v.Type.IsNumber() {
		a.sum.Add(v)
		a.count++
	}
	return nil
}

func (a *avgAccumulator) Result() bsonx.Value {
	if a.count == 0 {
		return bsonx.Null
	}
	return a.sum.Average(a.count)
}

func (a *avgAccumulator) Bytes() int { return 168 }

func (a *avgAccumulator) State() bsonx.Value { return bsonx.NewArray(a.sum.State(), a.count) }

func (a *avgAccumulator) Merge(state bsonx.Value) error {
	values := state.Doc().Values()
	a.sum.Merge(values[0])
	a.count += values[1].Int64()
	return nil
}
