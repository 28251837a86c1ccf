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

func minNDefinition() Definition {
	s := &selection{notObject: 5787900, keep: newMinN, pick: pickLeast}
	return Definition{
		Name: "$minN", Parse: s.parse, Arguments: []string{"n", "input"},
		Depends: expr.OnOperands, StableAPI: feature.Yes, Window: AnyWindow, InputOrder: feature.No,
		Expression: s.expression(),
	}
}

func maxNDefinition() Definition {
	s := &selection{notObject: 5787900, keep: newMaxN, pick: pickGreatest}
	return Definition{
		Name: "$maxN", Parse: s.parse, Arguments: []string{"n", "input"},
		Depends: expr.OnOperands, StableAPI: feature.Yes, Window: AnyWindow, InputOrder: feature.No,
		Expression: s.expression(),
	}
}

func newMinN(name string, n int, c *collation.Collator, running *interrupt.Running) Accumulator {
	return &extremesN{name: name, n: n, sign: 1, collation: c, running: running}
}

func newMaxN(name string, n int, c *collation.Collator, running *interrupt.Running) Accumulator {
	return &extremesN{name: name, n: n, sign: -1, collation: c, running: running}
}

// $minN and $maxN as accumulators. The expressions of the same names are in pick.go.

// extremesN is $minN or $maxN. It ignores null and missing values. It keeps the n best values in a
// heap with the worst on top. The order of the heap decides which of several equal values of
// different types is in the result. So the heap moves values exactly like the heap of the C++
// standard library, which MongoDB uses.
type extremesN struct {
	name  string
	n     int
	sign  int // 1 for the smallest values, -1 for the greatest
	heap  []bsonx.Value
	bytes int

	collation *collation.Collator
	running   *interrupt.Running
	result    []bsonx.Value // the sorted values, set by Finish; nil after another Add
}

// worse reports whether x comes after y in the result.
func (a *extremesN) worse(x, y bsonx.Value) bool { return a.collation.CompareValues(x, y)*a.sign > 0 }

func (a *extremesN) Add(v bsonx.Value) error {
	if expr.Nullish(v) {
		return nil
	}
	a.result = nil
	if len(a.heap) == a.n {
		if !a.worse(a.heap[0], v) {
			return a.collation.Ended(a.heap[0], v)
		}
		a.pop(a.heap)
		last := len(a.heap) - 1
		a.bytes -= valueBytes + len(a.heap[last].Data)
		a.heap = a.heap[:last]
	}
	if a.bytes += valueBytes + len(v.Data); a.bytes > limits.ExpressionBytes {
		return tooMuchMemory(a.name)
	}
	a.heap = append(a.heap, v.Clone())
	a.up(a.heap, len(a.heap)-1, a.heap[len(a.heap)-1])
	return a.collation.EndedIn(a.bytes)
}

// up inserts v at position i of the heap h, or at an ancestor of i.
func (a *extremesN) up(h []bsonx.Value, i int, v bsonx.Value) {
	for i > 0 && a.worse(v, h[(i-1)/2]) {
		h[i] = h[(i-1)/2]
		i = (i - 1) / 2
	}
	h[i] = v
}

// pop moves the top of the heap to the end of h. The hole at the top first sinks to a leaf, and
// then the former last value rises from there.
func (a *extremesN) pop(h []bsonx.Value) {
	last := len(h) - 1
	if last == 0 {
		return
	}
	v := h[last]
	h[last] = h[0]
	hole := 0
	for child := 2; child <= last; child = 2*hole + 2 {
		if child == last || a.worse(h[child-1], h[child]) {
			child--
		}
		h[hole], hole = h[child], child
	}
	a.up(h[:last], hole, v)
}

// popWork is the work of removing one value from the heap, in the units of interrupt.Meter.
const popWork = 8 * interrupt.Step

// Finish implements finisher: it sorts the values.
func (a *extremesN) Finish(bool) error {
	sorted := slices.Clone(a.heap)
	var meter interrupt.Meter
	for n := len(sorted); n > 1; n-- {
		a.pop(sorted[:n])
		work := popWork
		if a.collation != nil {
			work += popWork * len(sorted[n-1].Data) / 16
		}
		if err := meter.Did(work, a.running); err != nil {
			return err
		}
	}
	a.result = sorted
	return a.collation.EndedIn(a.bytes)
}

func (a *extremesN) Result() bsonx.Value { return bsonx.ValueOf(a.result) }

func (a *extremesN) Bytes() int                    { return 64 + a.bytes }
func (a *extremesN) State() bsonx.Value            { return a.Result() }
func (a *extremesN) Merge(state bsonx.Value) error { return addAll(a, state) }
