package expr

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// $firstN, $lastN, $minN and $maxN as accumulators; the operators of these names are in firstn.go.

// nArguments compiles the arguments {input: …, n: …}, in the order of the document.
func nArguments(name string, arg bsonx.Value, operand func(bsonx.Value) (Expr, error)) (input, n Expr, err error) {
	if arg.Type != bsonx.TypeDocument {
		code := mongoerr.Code(5787801)
		if name == "$minN" || name == "$maxN" {
			code = 5787900
		}
		return input, n, mongoerr.New(code, "specification must be an object; found %s", showElement(name, arg))
	}
	for it := arg.Doc().Iter(); it.Next(); {
		switch string(it.Key()) {
		case "input":
			input, err = operand(it.Value())
		case "n":
			n, err = operand(it.Value())
		default:
			err = mongoerr.New(5787901, "Unknown argument for 'n' operator: %s", it.Key())
		}
		if err != nil {
			return nil, nil, err
		}
	}
	if n == nil {
		return nil, nil, mongoerr.New(5787906, "Missing value for 'n'")
	}
	if input == nil {
		return nil, nil, mongoerr.New(5787907, "Missing value for 'input'")
	}
	return input, n, nil
}

// countOf checks the value of n.
func countOf(v bsonx.Value) (int, error) {
	if !v.Type.IsNumber() {
		return 0, mongoerr.New(5787902, "Value for 'n' must be of integral type, but found %s", Show(v))
	}
	n, ok := v.AsExactInt64()
	if f, _ := v.AsFloat64(); v.Type == bsonx.TypeDecimal128 && f == 0 { // also what is nearer to 0 than a double can be, as within MongoDB
		ok = true
	}
	if !ok {
		return 0, mongoerr.New(5787903, "Value for 'n' must be of integral type, but found %s", Show(v))
	}
	if n <= 0 {
		return 0, mongoerr.New(5787908, "'n' must be greater than 0, found %d", n)
	}
	return int(n), nil
}

// startN completes the Accumulation of an accumulator that keeps n values, where n is computed by Init. Also an n that is constant is
// refused by the first group only: without documents there is no error.
func (a *Accumulation) startN(make func(n int) Accumulator) {
	if v, constant := ConstValue(a.Init); constant {
		if n, err := countOf(v); err == nil {
			a.plain = func() Accumulator { return make(n) }
			return
		}
	}
	a.start = func(init bsonx.Value) (Accumulator, error) {
		n, err := countOf(init)
		if err != nil {
			return nil, err
		}
		return make(n), nil
	}
}

func newN(name string, n int, c *collation.Collator, running *interrupt.Running) Accumulator {
	switch name {
	case "$firstN":
		return &firstN{endsN{name: name, n: n}}
	case "$lastN":
		return &lastN{endsN: endsN{name: name, n: n}}
	case "$minN":
		return &extremesN{name: name, n: n, sign: 1, collation: c, running: running}
	default:
		return &extremesN{name: name, n: n, sign: -1, collation: c, running: running}
	}
}

func parseN(name string, arg bsonx.Value, vars *Vars) (*Accumulation, error) {
	input, n, err := nArguments(name, arg, func(v bsonx.Value) (Expr, error) { return Parse(v, vars) })
	if err != nil {
		return nil, err
	}
	out := &Accumulation{Name: name, Init: n, Arg: input}
	running := vars.Scripts().Running
	out.startN(func(n int) Accumulator { return newN(name, n, vars.Collation(), running) })
	return out, nil
}

// endsN is what $firstN and $lastN keep. A missing value counts as null.
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
	if a.bytes += valueBytes + len(v.Data); a.bytes > maxExpressionBytes {
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

func (a *firstN) Result() bsonx.Value           { return bsonx.ValueOf(a.values) }
func (a *firstN) State() bsonx.Value            { return bsonx.ValueOf(a.values) }
func (a *firstN) Merge(state bsonx.Value) error { return addAll(a, state) }

// lastN keeps its values in a ring.
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
	if a.bytes += len(v.Data) - len(old.Data); a.bytes > maxExpressionBytes {
		return tooMuchMemory(a.name)
	}
	*old = v.Clone()
	a.oldest = (a.oldest + 1) % a.n
	return nil
}

func (a *lastN) Result() bsonx.Value {
	return bsonx.ValueOf(append(slices.Clone(a.values[a.oldest:]), a.values[:a.oldest]...))
}
func (a *lastN) State() bsonx.Value            { return a.Result() }
func (a *lastN) Merge(state bsonx.Value) error { return addAll(a, state) }

// extremesN is $minN and $maxN, which ignore null. It keeps a heap with the worst value on top. Values that are equal
// and differ in type show the heap's order in the result, so it moves values as the C++ library's heap does, which the
// server uses.
type extremesN struct {
	name  string
	n     int
	sign  int // 1 for the least values, -1 for the greatest
	heap  []bsonx.Value
	bytes int

	collation *collation.Collator
	running   *interrupt.Running
	result    []bsonx.Value // of Finish; nil after another value
}

// worse reports whether a comes after b in the result.
func (a *extremesN) worse(x, y bsonx.Value) bool { return a.collation.CompareValues(x, y)*a.sign > 0 }

func (a *extremesN) Add(v bsonx.Value) error {
	if nullish(v) {
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
	if a.bytes += valueBytes + len(v.Data); a.bytes > maxExpressionBytes {
		return tooMuchMemory(a.name)
	}
	a.heap = append(a.heap, v.Clone())
	a.up(a.heap, len(a.heap)-1, a.heap[len(a.heap)-1])
	return a.collation.EndedIn(a.bytes)
}

// up puts v at i or above.
func (a *extremesN) up(h []bsonx.Value, i int, v bsonx.Value) {
	for i > 0 && a.worse(v, h[(i-1)/2]) {
		h[i] = h[(i-1)/2]
		i = (i - 1) / 2
	}
	h[i] = v
}

// pop moves the top to the end: the hole sinks to the bottom first, then the last value rises from there.
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

// popWork is the work on a value that leaves the heap.
const popWork = 8 * interrupt.Step

// Finish implements Finisher: it brings the values into their order.
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
