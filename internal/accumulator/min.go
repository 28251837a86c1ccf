package accumulator

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
)

func minDefinition() Definition {
	return Definition{
		Name: "$min", New: func(c *collation.Collator) Accumulator { return &extreme{sign: -1, collation: c} },
		Unordered: true,
		Depends:   expr.OnOperands, StableAPI: feature.Yes, Window: OwnWindow, InputOrder: feature.No,
		Expression: overOperands(expr.Commutable),
	}
}

func maxDefinition() Definition {
	return Definition{
		Name: "$max", New: func(c *collation.Collator) Accumulator { return &extreme{sign: 1, collation: c} },
		Unordered: true,
		Depends:   expr.OnOperands, StableAPI: feature.Yes, Window: OwnWindow, InputOrder: feature.No,
		Expression: overOperands(expr.Commutable),
	}
}

// extreme is $min (sign 1) or $max (sign -1). It ignores null and missing values.
type extreme struct {
	sign      int
	best      bsonx.Value
	collation *collation.Collator
}

func (a *extreme) Add(v bsonx.Value) error {
	if expr.Nullish(v) {
		return nil
	}
	greater := a.best.IsMissing() || a.collation.CompareValues(v, a.best)*a.sign > 0
	if err := a.collation.Ended(v, a.best); err != nil {
		return err
	}
	if greater {
		keep(&a.best, v)
	}
	return nil
}

func (a *extreme) Result() bsonx.Value {
	if a.best.IsMissing() {
		return bsonx.Null
	}
	return a.best.Clone()
}

func (a *extreme) Bytes() int { return 32 + cap(a.best.Data) }

func (a *extreme) State() bsonx.Value { return a.Result() }

func (a *extreme) Merge(state bsonx.Value) error { return a.Add(state) }
