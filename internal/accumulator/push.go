package accumulator

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

func pushDefinition() Definition {
	return Definition{
		Name: "$push", New: func(*collation.Collator) Accumulator { return &pushAccumulator{} },
		Depends: expr.OnOperands, StableAPI: feature.Yes, Window: AnyWindow, InputOrder: feature.Yes,
	}
}

// valueBytes estimates the memory of a kept value in bytes, without its data.
const valueBytes = 32

// tooMuchMemory is the error of an accumulator whose values exceed limits.ExpressionBytes. Spilling
// to disk does not help, because the result must fit into memory.
func tooMuchMemory(name string) error {
	return mongoerr.New(mongoerr.ExceededMemoryLimit,
		"%s used too much memory and spilling to disk cannot reduce memory consumption any further. Memory limit: %d bytes", name, limits.ExpressionBytes)
}

// pushAccumulator is $push. It ignores missing values.
type pushAccumulator struct {
	values []bsonx.Value
	bytes  int
}

func (a *pushAccumulator) Add(v bsonx.Value) error { return a.push("$push", v) }

func (a *pushAccumulator) push(name string, v bsonx.Value) error {
	if v.IsMissing() {
		return nil
	}
	a.values = append(a.values, v.Clone())
	if a.bytes += valueBytes + len(v.Data); a.bytes > limits.ExpressionBytes {
		return tooMuchMemory(name)
	}
	return nil
}

func (a *pushAccumulator) Result() bsonx.Value { return bsonx.ValueOf(a.values) }
func (a *pushAccumulator) Bytes() int          { return a.bytes }
func (a *pushAccumulator) State() bsonx.Value  { return bsonx.ValueOf(a.values) }

func (a *pushAccumulator) Merge(state bsonx.Value) error { return addAll(a, state) }

// addAll adds all elements of an array to a.
func addAll(a Accumulator, array bsonx.Value) error {
	for it := array.Doc().Iter(); it.Next(); {
		if err := a.Add(it.Value()); err != nil {
			return err
		}
	}
	return nil
}
