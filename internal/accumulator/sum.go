package accumulator

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/expr"
)

func sumDefinition() Definition {
	return Definition{
		Name: "$sum", New: func(*collation.Collator) Accumulator { return &sumAccumulator{} },
		FixedSize: true, Unordered: true,
		Depends: expr.OnOperands, StableAPI: expr.Yes, Window: OwnWindow,
		Expression: overOperands(expr.Commutable),
	}
}

// sumAccumulator is $sum and $count.
type sumAccumulator struct{ removableSum }

func (a *sumAccumulator) Add(v bsonx.Value) error    { a.add(v); return nil }
func (a *sumAccumulator) Remove(v bsonx.Value) error { return a.remove(v) }
func (a *sumAccumulator) Result() bsonx.Value        { return a.result() }
func (a *sumAccumulator) Bytes() int                 { return 160 }
func (a *sumAccumulator) State() bsonx.Value         { return a.state(0) }

func (a *sumAccumulator) Merge(state bsonx.Value) error {
	a.merge(state)
	return nil
}
