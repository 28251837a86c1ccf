package accumulator

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
)

func firstDefinition() Definition {
	return Definition{
		Name: "$first", New: func(*collation.Collator) Accumulator { return &endAccumulator{first: true} },
		Once:    true,
		Depends: expr.OnOperands, StableAPI: feature.Yes, Window: OwnWindow, InputOrder: feature.Yes,
		Sole: FirstDocument,
	}
}

func lastDefinition() Definition {
	return Definition{
		Name: "$last", New: func(*collation.Collator) Accumulator { return &endAccumulator{} },
		Depends: expr.OnOperands, StableAPI: feature.Yes, Window: OwnWindow, InputOrder: feature.Yes,
		Sole: LastDocument,
	}
}

// keep copies v to *old and reuses the memory of the previous value.
func keep(old *bsonx.Value, v bsonx.Value) {
	*old = bsonx.Value{Type: v.Type, Data: append(old.Data[:0], v.Data...)}
}

// endAccumulator is $first or $last.
type endAccumulator struct {
	first bool
	seen  bool
	value bsonx.Value
}

func (a *endAccumulator) Add(v bsonx.Value) error {
	if a.first && a.seen {
		return nil
	}
	a.seen = true
	keep(&a.value, v)
	return nil
}

// Sated implements Sater.
func (a *endAccumulator) Sated() bool { return a.first && a.seen }

func (a *endAccumulator) Result() bsonx.Value {
	if a.value.IsMissing() {
		return bsonx.Null
	}
	return a.value.Clone()
}

func (a *endAccumulator) Bytes() int                    { return 32 + cap(a.value.Data) }
func (a *endAccumulator) State() bsonx.Value            { return a.Result() }
func (a *endAccumulator) Merge(state bsonx.Value) error { return a.Add(state) }
