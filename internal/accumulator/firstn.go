package accumulator

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/limits"
)

func firstNDefinition() Definition {
	s := &selection{notObject: 5787801, keep: newFirstN, pick: pickFirst}
	return Definition{
		Name: "$firstN", Parse: s.parse, Arguments: []string{"n", "input"},
		Depends: expr.OnOperands, StableAPI: feature.Yes, Window: AnyWindow, InputOrder: feature.Yes,
		Expression: s.expression(),
	}
}

func lastNDefinition() Definition {
	s := &selection{notObject: 5787801, keep: newLastN, pick: pickLast}
	return Definition{
		Name: "$lastN", Parse: s.parse, Arguments: []string{"n", "input"},
		Depends: expr.OnOperands, StableAPI: feature.Yes, Window: AnyWindow, InputOrder: feature.Yes,
		Expression: s.expression(),
	}
}

func newFirstN(name string, n int, _ *collation.Collator, _ *interrupt.Running) Accumulator {
	return &firstN{endsN{name: name, n: n}}
}

func newLastN(name string, n int, _ *collation.Collator, _ *interrupt.Running) Accumulator {
	return &lastN{endsN: endsN{name: name, n: n}}
}

// endsN is the common part of $firstN and $lastN. A missing value counts as null.
type endsN struct {
	name   string
	n      int
	values []bsonx.Value
	bytes  int
}

func (a *endsN) push(v bsonx.Value) error {
	if v.IsMissing() {
		v = bsonx.Null
	}
	a.values = append(a.values, v.Clone())
	if a.bytes += valueBytes + len(v.Data); a.bytes > limits.ExpressionBytes {
		return tooMuchMemory(a.name)
	}
	return nil
}

func (a *endsN) Bytes() int { return 64 + a.bytes }

type firstN struct{ endsN }

func (a *firstN) Add(v bsonx.Value) error {
	if len(a.values) >= a.n {
		return nil
	}
	return a.push(v)
}

func (a *firstN) Result() bsonx.Value { return bsonx.ValueOf(a.values) }

func (a *firstN) State() bsonx.Value { return bsonx.ValueOf(a.values) }

func (a *firstN) Merge(state bsonx.Value) error { return addAll(a, state) }

// lastN is $lastN. It stores the last n values in a ring buffer.
type lastN struct {
	endsN
	oldest int
}

func (a *lastN) Add(v bsonx.Value) error {
	if len(a.values) < a.n {
		return a.push(v)
	}
	if v.IsMissing() {
		v = bsonx.Null
	}
	old := &a.values[a.oldest]
	if a.bytes += len(v.Data) - len(old.Data); a.bytes > limits.ExpressionBytes {
		return tooMuchMemory(a.name)
	}
	*old = v.Clone()
	a.oldest = (a.oldest + 1) % a.n
	return nil
}

func (a *lastN) Result() bsonx.Value {
	return bsonx.ValueOf(append(slices.Clone(a.values[a.oldest:]), a.values[:a.oldest]...))
}

func (a *lastN) State() bsonx.Value { return a.Result() }

func (a *lastN) Merge(state bsonx.Value) error { return addAll(a, state) }
