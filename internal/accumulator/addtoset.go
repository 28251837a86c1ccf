package accumulator

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
)

func addToSetDefinition() Definition {
	return Definition{
		Name: "$addToSet", New: func(c *collation.Collator) Accumulator { return &setAccumulator{collation: c} },
		Depends: expr.OnOperands, StableAPI: feature.Yes, Window: OwnWindow, InputOrder: feature.No,
	}
}

// setAccumulator is $addToSet. It keeps distinct values in the order in which they were first
// added.
type setAccumulator struct {
	pushAccumulator
	heads map[uint64]int // for each hash, the index of its newest value plus one
	// next contains, for each value, the index plus one of the previous value with the same hash.
	// It contains 0 if there is no such value.
	next []int

	collation *collation.Collator
}

func (a *setAccumulator) Add(v bsonx.Value) error {
	if v.IsMissing() {
		return nil
	}
	folded, err := a.collation.Fold(v, nil)
	if err != nil {
		return err
	}
	hash := bsonx.Hash64(folded)
	head := a.heads[hash]
	for i := head; i > 0; i = a.next[i-1] {
		if a.collation.CompareValues(a.values[i-1], v) == 0 {
			return a.collation.Ended(a.values[i-1], v)
		}
	}
	if a.heads == nil {
		a.heads = map[uint64]int{}
	}
	if err := a.push("$addToSet", v); err != nil {
		return err
	}
	a.next = append(a.next, head)
	a.heads[hash] = len(a.values)
	a.bytes += valueBytes
	return nil
}

func (a *setAccumulator) Merge(state bsonx.Value) error { return addAll(a, state) }
