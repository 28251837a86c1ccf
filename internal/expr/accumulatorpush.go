package expr

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// valueBytes is about what a kept value takes beside its payload.
const valueBytes = 32

// tooMuchMemory is what accumulators that keep values answer beyond the limit, which writing to disk cannot help.
func tooMuchMemory(name string) error {
	return mongoerr.New(mongoerr.ExceededMemoryLimit,
		"%s used too much memory and spilling to disk cannot reduce memory consumption any further. Memory limit: %d bytes", name, maxExpressionBytes)
}

// pushAccumulator is $push.
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
	if a.bytes += valueBytes + len(v.Data); a.bytes > maxExpressionBytes {
		return tooMuchMemory(name)
	}
	return nil
}

func (a *pushAccumulator) Result() bsonx.Value { return bsonx.ValueOf(a.values) }
func (a *pushAccumulator) Bytes() int          { return a.bytes }
func (a *pushAccumulator) State() bsonx.Value  { return bsonx.ValueOf(a.values) }

func (a *pushAccumulator) Merge(state bsonx.Value) error { return addAll(a, state) }

// addAll adds the elements of an array.
func addAll(a Accumulator, array bsonx.Value) error {
	for it := array.Doc().Iter(); it.Next(); {
		if err := a.Add(it.Value()); err != nil {
			return err
		}
	}
	return nil
}

// setAccumulator is $addToSet. It keeps its values in the order in which they came.
type setAccumulator struct {
	pushAccumulator
	heads map[uint64]int // by hash: one more than the index of the last value that has it
	next  []int          // of each value: the same for the one before with that hash

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
