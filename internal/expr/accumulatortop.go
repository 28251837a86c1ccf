package expr

import (
	"bytes"
	"slices"
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/keystring"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// $top, $topN, $bottom and $bottomN.

func parseTop(name string, arg bsonx.Value, vars *Vars) (*Accumulation, error) {
	raw, err := topArguments(name, arg)
	if err != nil {
		return nil, err
	}
	top := &topValue{}
	if top.keys, err = parseTopKeys(raw[1], vars.Collation()); err != nil {
		return nil, err
	}
	if top.output, err = Parse(raw[0], vars); err != nil {
		return nil, err
	}
	single, bottom := !strings.HasSuffix(name, "N"), strings.HasPrefix(name, "$bottom")
	out := &Accumulation{Name: name, Arg: top}
	if single {
		out.plain = func() Accumulator { return &topAccumulator{name: name, n: 1, single: true, bottom: bottom} }
		return out, nil
	}
	if out.Init, err = Parse(raw[2], vars); err != nil {
		return nil, err
	}
	out.startN(func(n int) Accumulator { return &topAccumulator{name: name, n: n, bottom: bottom} })
	return out, nil
}

// topArguments returns the raw output, sortBy and n.
func topArguments(name string, arg bsonx.Value) (raw [3]bsonx.Value, err error) {
	if arg.Type != bsonx.TypeDocument {
		return raw, mongoerr.New(5788001, "specification must be an object; found %s", showElement(name, arg))
	}
	hasN := strings.HasSuffix(name, "N")
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
		case key == "n" && hasN:
			raw[2] = it.Value()
		default:
			return raw, mongoerr.New(5788002, "Unknown argument to %s '%s'", name, key)
		}
	}
	switch {
	case hasN && raw[2].IsMissing():
		return raw, mongoerr.New(5788003, "Missing value for 'n'")
	case raw[0].IsMissing():
		return raw, mongoerr.New(5788004, "Missing value for 'output'")
	case raw[1].IsMissing():
		return raw, mongoerr.New(5788005, "Missing value for 'sortBy'")
	}
	return raw, nil
}

// topKey is one part of sortBy: a path, or metadata.
type topKey struct {
	path []string
	meta Expr
	desc bool

	collation *collation.Collator
}

func parseTopKeys(sortBy bsonx.Value, c *collation.Collator) ([]topKey, error) {
	if sortBy.Doc().IsEmpty() {
		return nil, mongoerr.New(9657900, "Value for 'sortBy' must be a non-empty object")
	}
	var keys []topKey
	for it := sortBy.Doc().Iter(); it.Next(); {
		key, err := parseTopKey(string(it.Key()), it.Value())
		if err != nil {
			return nil, err
		}
		key.collation = c
		keys = append(keys, key)
	}
	return keys, nil
}

func parseTopKey(name string, v bsonx.Value) (topKey, error) {
	if v.Type == bsonx.TypeDocument {
		kind := v.Doc().Lookup("$meta")
		if kind.IsMissing() {
			return topKey{}, mongoerr.New(17312, "$meta is the only expression supported by $sort right now")
		}
		meta, err := Parse(v, nil)
		return topKey{meta: meta, desc: true}, err
	}
	if !v.Type.IsNumber() {
		return topKey{}, mongoerr.New(15974, "Illegal key in $sort specification: %s: %s", name, Show(v))
	}
	n, ok := v.AsExactInt64()
	if !ok || n != 1 && n != -1 {
		return topKey{}, mongoerr.New(15975, "$sort key ordering must be 1 (for ascending) or -1 (for descending)")
	}
	path, err := SplitFieldPath(name)
	return topKey{path: path, desc: n < 0}, err
}

// topValue is what $top and its kin gather: an array of the sort key, whose bytes have the order, and the output.
type topValue struct {
	keys   []topKey
	output Expr
}

func (t *topValue) children() []Expr {
	list := []Expr{t.output}
	for _, k := range t.keys {
		if k.meta != nil {
			list = append(list, k.meta)
		} else {
			list = append(list, &Path{slot: rootSlot, parts: k.path, dotted: strings.Join(k.path, ".")})
		}
	}
	return list
}

func (t *topValue) Eval(ctx *Context) (bsonx.Value, error) {
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

func (t *topValue) appendKey(key []byte, ctx *Context) ([]byte, error) {
	array := "" // the path to the array that the keys go through
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
		v, at := k.value(ctx.Root)
		if at > 0 {
			path := strings.Join(k.path[:at], ".")
			if array != "" && array != path {
				return nil, mongoerr.New(mongoerr.BadValue, "cannot sort with keys that are parallel arrays")
			}
			array = path
		}
		key = keystring.Append(key, k.collation.Fold(v), k.desc)
	}
	return key, nil
}

func orNull(v bsonx.Value) bsonx.Value {
	if v.IsMissing() {
		return bsonx.Null
	}
	return v
}

// value returns what a document is sorted by: of an array the least element, or the greatest for a descending key. An
// empty array is undefined. array is how many parts of the path lead to the first array, or 0.
func (k *topKey) value(v bsonx.Value) (best bsonx.Value, array int) {
	found := false
	walkKey(v, k.path, func(v bsonx.Value) {
		v = orNull(v)
		c := 0
		if found {
			c = k.collation.CompareValues(v, best)
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
			return best, i + 1
		}
	}
	return best, 0
}

// walkKey calls f for the values at a path, as an index on it has keys.
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

// topAccumulator keeps n values by the bytes of their keys. Of equal keys those that came first stay in front.
type topAccumulator struct {
	name           string
	n              int
	single, bottom bool
	entries        []topEntry
	sorted         bool // there have been n
	bytes          int
}

type topEntry struct {
	key    []byte
	output bsonx.Value
}

const topEntryBytes = 80

func compareTopEntries(a, b topEntry) int { return bytes.Compare(a.key, b.key) }

func (a *topAccumulator) Add(v bsonx.Value) error {
	pair := v.Doc().Iter()
	pair.Next()
	_, key := pair.Value().Binary()
	if len(a.entries) == a.n && !a.evict(key) {
		return nil
	}
	pair.Next()
	entry := topEntry{bytes.Clone(key), pair.Value().Clone()}
	if a.bytes += topEntryBytes + len(key) + len(entry.output.Data); a.bytes > maxExpressionBytes {
		return tooMuchMemory(a.name)
	}
	a.entries = append(a.entries, entry)
	switch {
	case a.sorted:
		a.insertLast()
	case len(a.entries) == a.n:
		slices.SortStableFunc(a.entries, compareTopEntries)
		a.sorted = true
	}
	return nil
}

// insertLast puts the last entry where it belongs among the others, which are in order: after those that are equal.
func (a *topAccumulator) insertLast() {
	last := len(a.entries) - 1
	entry := a.entries[last]
	at, _ := slices.BinarySearchFunc(a.entries[:last], entry, func(e, target topEntry) int {
		return max(compareTopEntries(e, target), 0)*2 - 1
	})
	copy(a.entries[at+1:], a.entries[at:last])
	a.entries[at] = entry
}

// evict makes room for a key, or reports that it is no better than those there are.
func (a *topAccumulator) evict(key []byte) bool {
	last := len(a.entries) - 1
	out := last
	if a.bottom {
		out = 0
	}
	if c := bytes.Compare(a.entries[out].key, key); c == 0 || (c < 0) != a.bottom {
		return false
	}
	a.bytes -= topEntryBytes + len(a.entries[out].key) + len(a.entries[out].output.Data)
	a.entries = slices.Delete(a.entries, out, out+1)
	return true
}

func (a *topAccumulator) Result() bsonx.Value {
	entries := slices.Clone(a.entries)
	slices.SortStableFunc(entries, compareTopEntries)
	if a.single {
		if len(entries) == 0 {
			return bsonx.Null
		}
		return orNull(entries[0].output).Clone()
	}
	values := make([]bsonx.Value, len(entries))
	for i, e := range entries {
		values[i] = orNull(e.output)
	}
	return arrayOf(values)
}

func (a *topAccumulator) Bytes() int { return 96 + a.bytes }

func (a *topAccumulator) State() bsonx.Value {
	entries := slices.Clone(a.entries)
	slices.SortStableFunc(entries, compareTopEntries)
	values := make([]bsonx.Value, len(entries))
	for i, e := range entries {
		values[i] = bsonx.NewArray(bsonx.Binary(0, e.key), orNull(e.output))
	}
	return arrayOf(values)
}

func (a *topAccumulator) Merge(state bsonx.Value) error { return addAll(a, state) }
