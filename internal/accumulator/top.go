package accumulator

import (
	"bytes"
	"cmp"
	"container/heap"
	"slices"
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/keystring"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

func topDefinition() Definition {
	return Definition{
		Name: "$top", Parse: topForm{single: true}.parse, Arguments: []string{"output", "=sortBy"},
		Depends: expr.OnOperands, StableAPI: feature.Yes, Window: AnyWindow, InputOrder: feature.No,
	}
}

func topNDefinition() Definition {
	return Definition{
		Name: "$topN", Parse: topForm{}.parse, Arguments: []string{"n", "output", "=sortBy"},
		Depends: expr.OnOperands, StableAPI: feature.Yes, Window: AnyWindow, InputOrder: feature.No,
	}
}

func bottomDefinition() Definition {
	return Definition{
		Name: "$bottom", Parse: topForm{single: true, bottom: true}.parse, Arguments: []string{"output", "=sortBy"},
		Depends: expr.OnOperands, StableAPI: feature.Yes, Window: AnyWindow, InputOrder: feature.No,
	}
}

func bottomNDefinition() Definition {
	return Definition{
		Name: "$bottomN", Parse: topForm{bottom: true}.parse, Arguments: []string{"n", "output", "=sortBy"},
		Depends: expr.OnOperands, StableAPI: feature.Yes, Window: AnyWindow, InputOrder: feature.No,
	}
}

// topForm holds the differences between $top, $topN, $bottom and $bottomN.
type topForm struct {
	single bool // there is no argument n, and the result is not an array
	bottom bool // the last values count, not the first
}

// parse compiles the accumulator. It is the Parse of its Definition.
func (f topForm) parse(name string, arg bsonx.Value, vars *expr.Vars) (*Accumulation, error) {
	raw, err := f.arguments(name, arg)
	if err != nil {
		return nil, err
	}
	top := &topValue{}
	if top.keys, err = parseTopKeys(raw[1], vars); err != nil {
		return nil, err
	}
	if top.output, err = expr.Parse(raw[0], vars); err != nil {
		return nil, err
	}
	running := vars.Scripts().Running
	out := &Accumulation{Name: name, Arg: top}
	if f.single {
		out.plain = func() Accumulator {
			return &topAccumulator{name: name, n: 1, single: true, bottom: f.bottom, running: running}
		}
		return out, nil
	}
	if out.Init, err = expr.Parse(raw[2], vars); err != nil {
		return nil, err
	}
	out.startN(func(n int) Accumulator { return &topAccumulator{name: name, n: n, bottom: f.bottom, running: running} })
	return out, nil
}

// arguments returns the uncompiled arguments output, sortBy and n.
func (f topForm) arguments(name string, arg bsonx.Value) (raw [3]bsonx.Value, err error) {
	if arg.Type != bsonx.TypeDocument {
		return raw, mongoerr.New(5788001, "specification must be an object; found %s", expr.ShowElement(name, arg))
	}
	for it := arg.Doc().Iter(); it.Next(); {
		key := string(it.Key())
		switch {
		case key == "output":
			raw[0] = it.Value()
		case key == "sortBy":
			if it.Value().Type != bsonx.TypeDocument {
				return raw, mongoerr.New(10065, "invalid parameter: expected an object (sortBy)")
			}
			raw[1] = it.Value()
		case key == "n" && !f.single:
			raw[2] = it.Value()
		default:
			return raw, mongoerr.New(5788002, "Unknown argument to %s '%s'", name, key)
		}
	}
	switch {
	case !f.single && raw[2].IsMissing():
		return raw, mongoerr.New(5788003, "Missing value for 'n'")
	case raw[0].IsMissing():
		return raw, mongoerr.New(5788004, "Missing value for 'output'")
	case raw[1].IsMissing():
		return raw, mongoerr.New(5788005, "Missing value for 'sortBy'")
	}
	return raw, nil
}

// topKey is one field of sortBy: a path or metadata.
type topKey struct {
	path []string
	meta expr.Expr
	desc bool

	collation *collation.Collator
}

func parseTopKeys(sortBy bsonx.Value, vars *expr.Vars) ([]topKey, error) {
	if sortBy.Doc().IsEmpty() {
		return nil, mongoerr.New(9657900, "Value for 'sortBy' must be a non-empty object")
	}
	var keys []topKey
	for it := sortBy.Doc().Iter(); it.Next(); {
		key, err := parseTopKey(string(it.Key()), it.Value(), vars.Operators())
		if err != nil {
			return nil, err
		}
		key.collation = vars.Collation()
		keys = append(keys, key)
	}
	return keys, nil
}

func parseTopKey(name string, v bsonx.Value, operators *expr.Table) (topKey, error) {
	if v.Type == bsonx.TypeDocument {
		kind := v.Doc().Lookup("$meta")
		if kind.IsMissing() {
			return topKey{}, mongoerr.New(17312, "$meta is the only expression supported by $sort right now")
		}
		meta, err := expr.Parse(v, operators.Scope())
		return topKey{meta: meta, desc: true}, err
	}
	if !v.Type.IsNumber() {
		return topKey{}, mongoerr.New(15974, "Illegal key in $sort specification: %s: %s", name, bsonx.FormatShell(v))
	}
	n, ok := v.AsExactInt64()
	if !ok || n != 1 && n != -1 {
		return topKey{}, mongoerr.New(15975, "$sort key ordering must be 1 (for ascending) or -1 (for descending)")
	}
	path, err := expr.SplitFieldPath(name)
	return topKey{path: path, desc: n < 0}, err
}

// topValue is the operand of $top and related accumulators. Its value is an array of the binary
// sort key, whose bytes compare in sort order, and the output.
type topValue struct {
	keys   []topKey
	output expr.Expr
}

func (t *topValue) Children() []expr.Expr {
	list := []expr.Expr{t.output}
	for _, k := range t.keys {
		if k.meta != nil {
			list = append(list, k.meta)
		} else {
			list = append(list, expr.NewPath(k.path))
		}
	}
	return list
}

func (t *topValue) Eval(ctx *expr.Context) (bsonx.Value, error) {
	key, err := t.appendKey(make([]byte, 0, 64), ctx)
	if err != nil {
		return bsonx.Missing, err
	}
	output, err := t.output.Eval(ctx)
	if err != nil {
		return bsonx.Missing, err
	}
	b := bsonx.NewBuilder(make([]byte, 0, len(key)+len(output.Data)+32))
	b.StartArray()
	b.Elem(bsonx.Binary(0, key))
	b.Elem(output)
	b.End()
	return bsonx.Array(b.Bytes()), nil
}

func (t *topValue) appendKey(key []byte, ctx *expr.Context) ([]byte, error) {
	array := "" // the path to the array that the keys traverse; "" before an array
	for i := range t.keys {
		k := &t.keys[i]
		if k.meta != nil {
			v, err := k.meta.Eval(ctx)
			if err != nil {
				return nil, err
			}
			key = keystring.Append(key, orNull(v), k.desc)
			continue
		}
		v, at, err := k.value(ctx.Root)
		if err != nil {
			return nil, err
		}
		if at > 0 {
			path := strings.Join(k.path[:at], ".")
			if array != "" && array != path {
				return nil, mongoerr.New(mongoerr.BadValue, "cannot sort with keys that are parallel arrays")
			}
			array = path
		}
		if v, err = k.collation.Fold(v, nil); err != nil {
			return nil, err
		}
		key = keystring.Append(key, v, k.desc)
	}
	return key, nil
}

func orNull(v bsonx.Value) bsonx.Value {
	if v.IsMissing() {
		return bsonx.Null
	}
	return v
}

// value returns the value by which a document is sorted. For an array it is the smallest element,
// or the largest for a descending key; an empty array gives undefined. array is the number of path
// components before the first array, or 0 without an array.
func (k *topKey) value(v bsonx.Value) (best bsonx.Value, array int, err error) {
	found, by := false, k.collation.Comparer(nil)
	walkKey(v, k.path, func(v bsonx.Value) {
		v = orNull(v)
		c := 0
		if found {
			c = by.Compare(v, best)
		}
		if !found || c < 0 && !k.desc || c > 0 && k.desc {
			best, found = v, true
		}
	})
	for i, part := range k.path {
		if v.Type != bsonx.TypeDocument {
			break
		}
		if v = v.Doc().Lookup(part); v.Type == bsonx.TypeArray {
			return best, i + 1, by.Ended()
		}
	}
	return best, 0, by.Ended()
}

// walkKey calls f for the values at path that an index on the path would store.
func walkKey(v bsonx.Value, path []string, f func(bsonx.Value)) {
	switch {
	case v.Type == bsonx.TypeArray && len(path) == 0:
		if v.Doc().IsEmpty() {
			f(bsonx.Value{Type: bsonx.TypeUndefined})
		}
		for it := v.Doc().Iter(); it.Next(); {
			f(it.Value())
		}
	case v.Type == bsonx.TypeArray:
		walkElements(v, path, f)
	case len(path) == 0:
		f(v)
	case v.Type == bsonx.TypeDocument:
		walkKey(v.Doc().Lookup(path[0]), path[1:], f)
	default:
		f(bsonx.Missing)
	}
}

func walkElements(v bsonx.Value, path []string, f func(bsonx.Value)) {
	if _, numeric := bsonx.ArrayIndex(path[0]); numeric {
		if elem := v.Doc().Lookup(path[0]); !elem.IsMissing() {
			walkKey(elem, path[1:], f)
			return
		}
	}
	any := false
	for it := v.Doc().Iter(); it.Next(); {
		if it.Value().Type == bsonx.TypeDocument {
			any = true
			walkKey(it.Value(), path, f)
		}
	}
	if !any {
		f(bsonx.Null)
	}
}

// topAccumulator keeps n outputs, ordered by the bytes of their sort keys. Outputs with equal keys
// keep their input order. When it has n entries, they form a heap with the entry to replace next on
// top.
type topAccumulator struct {
	name           string
	n              int
	single, bottom bool
	entries        []topEntry
	came           int // the number of entries added so far
	bytes          int

	running *interrupt.Running
	result  []topEntry // the sorted entries, set by Finish; nil after another Add
}

type topEntry struct {
	key    []byte
	came   int
	output bsonx.Value
}

const topEntryBytes = 88

func compareTopEntries(a, b topEntry) int {
	if c := bytes.Compare(a.key, b.key); c != 0 {
		return c
	}
	return cmp.Compare(a.came, b.came)
}

// Len implements heap.Interface.
func (a *topAccumulator) Len() int { return len(a.entries) }

// Less implements heap.Interface. The top of the heap is the last entry in sort order or, for
// $bottom, the first entry.
func (a *topAccumulator) Less(i, j int) bool {
	return (compareTopEntries(a.entries[i], a.entries[j]) > 0) != a.bottom
}

// Swap implements heap.Interface.
func (a *topAccumulator) Swap(i, j int) { a.entries[i], a.entries[j] = a.entries[j], a.entries[i] }

// Push implements heap.Interface. It is never called.
func (a *topAccumulator) Push(any) {}

// Pop implements heap.Interface. It is never called.
func (a *topAccumulator) Pop() any { return nil }

func (a *topAccumulator) Add(v bsonx.Value) error {
	pair := v.Doc().Iter()
	pair.Next()
	_, key := pair.Value().Binary()
	full := len(a.entries) == a.n
	if full && !a.better(key) {
		return nil
	}
	pair.Next()
	a.result = nil
	a.came++
	entry := topEntry{bytes.Clone(key), a.came, pair.Value().Clone()}
	a.bytes += entry.bytes()
	if full {
		a.bytes -= a.entries[0].bytes()
	}
	if a.bytes > limits.ExpressionBytes {
		return tooMuchMemory(a.name)
	}
	if full {
		a.entries[0] = entry
		heap.Fix(a, 0)
		return nil
	}
	if a.entries = append(a.entries, entry); len(a.entries) == a.n {
		heap.Init(a)
	}
	return nil
}

func (e *topEntry) bytes() int { return topEntryBytes + len(e.key) + len(e.output.Data) }

// better reports whether an entry with this key must replace the top of the heap.
func (a *topAccumulator) better(key []byte) bool {
	c := bytes.Compare(a.entries[0].key, key)
	return c != 0 && (c > 0) != a.bottom
}

// Finish implements finisher: it sorts the entries.
func (a *topAccumulator) Finish(bool) error {
	entries := slices.Clone(a.entries)
	var meter interrupt.Meter
	if err := interrupt.SortUnstable(entries, interrupt.Step/2, compareTopEntries, &meter, a.running); err != nil {
		return err
	}
	a.result = entries
	return nil
}

func (a *topAccumulator) Result() bsonx.Value {
	if a.single {
		if len(a.result) == 0 {
			return bsonx.Null
		}
		return orNull(a.result[0].output).Clone()
	}
	values := make([]bsonx.Value, len(a.result))
	for i, e := range a.result {
		values[i] = orNull(e.output)
	}
	return bsonx.ValueOf(values)
}

func (a *topAccumulator) Bytes() int { return 96 + a.bytes }

func (a *topAccumulator) State() bsonx.Value {
	values := make([]bsonx.Value, len(a.result))
	for i, e := range a.result {
		values[i] = bsonx.NewArray(bsonx.Binary(0, e.key), orNull(e.output))
	}
	return bsonx.ValueOf(values)
}

func (a *topAccumulator) Merge(state bsonx.Value) error { return addAll(a, state) }
