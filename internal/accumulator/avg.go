package accumulator

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/expr"
)

func avgDefinition() Definition {
	return Definition{
		Name: "$avg", New: func(*collation.Collator) Accumulator { return &avgAccumulator{} },
		FixedSize: true, Unordered: true,
		Depends: expr.OnOperands, StableAPI: expr.Yes, Window: OwnWindow,
		Expression: overOperands(expr.AssocNone),
	}
}

// avgAccumulator is $avg.
type avgAccumulator struct {
	removableSum
	count int64
}

func (a *avgAccumulator) Add(v bsonx.Value) error {
	if v.Type.IsNumber() {
		a.add(v)
		a.count++
	}
	return nil
}

func (a *avgAccumulator) Remove(v bsonx.Value) error {
	if v.Type.IsNumber() {
		a.count--
	}
	return a.remove(v)
}

func (a *avgAccumulator) Result() bsonx.Value {
	if a.count == 0 {
		return bsonx.Null
	}
	return a.average(a.count)
}

func (a *avgAccumulator) Bytes() int { return 168 }

func (a *avgAccumulator) State() bsonx.Value { return a.state(a.count) }

func (a *avgAccumulator) Merge(state bsonx.Value) error {
	a.count += a.merge(state)
	return nil
}
