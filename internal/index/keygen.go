package index

import (
	"bytes"
	"sort"
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/keystring"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// KeyGen generates the keys that documents have in an index of one pattern. It is immutable and safe for concurrent
// use; what changes is in Keys.
type KeyGen struct {
	fields []keyField
	sparse bool
}

type keyField struct {
	parts []string
	// numeric[i] tells whether parts[i] can be a position in an array.
	numeric []bool
	desc    bool
}

// NewKeyGen returns the generator of a pattern. A sparse index has no key for a document (or array element) in which
// all fields are missing.
func NewKeyGen(p Pattern, sparse bool) *KeyGen {
	g := &KeyGen{sparse: sparse, fields: make([]keyField, len(p))}
	for i, f := range p {
		parts := strings.Split(f.Path, ".")
		numeric := make([]bool, len(parts))
		for j, part := range parts {
			_, numeric[j] = bsonx.ArrayIndex(part)
		}
		g.fields[i] = keyField{parts: parts, numeric: numeric, desc: f.Desc}
	}
	return g
}

// Keys are the keys of one document: sorted and without duplicates. Its buffers are used again after Reset; what it
// returns is borrowed until then. The zero value is ready for use.
type Keys struct {
	buf      []byte
	spans    []span
	multikey MultikeyPaths
	bits     keystring.TypeBits
	states   []state
}

// span is where a key and its type bits stand in the buffer.
type span struct{ key, bits, end int }

// Reset forgets the keys.
func (k *Keys) Reset() {
	k.buf, k.spans = k.buf[:0], k.spans[:0]
	clear(k.multikey)
}

// Len returns how many keys there are.
func (k *Keys) Len() int { return len(k.spans) }

// Key returns the i-th key: the keystrings of the fields.
func (k *Keys) Key(i int) []byte { return k.buf[k.spans[i].key:k.spans[i].bits] }

// TypeBits returns the type bits of the i-th key.
func (k *Keys) TypeBits(i int) []byte { return k.buf[k.spans[i].bits:k.spans[i].end] }

// Multikey returns which path components were arrays.
func (k *Keys) Multikey() MultikeyPaths { return k.multikey }

// Has reports whether key is among the keys.
func (k *Keys) Has(key []byte) bool {
	_, found := sort.Find(len(k.spans), func(i int) int { return bytes.Compare(key, k.Key(i)) })
	return found
}

// sortUnique sorts the keys and drops duplicates.
func (k *Keys) sortUnique() {
	if len(k.spans) < 2 {
		return
	}
	sort.Slice(k.spans, func(i, j int) bool { return bytes.Compare(k.Key(i), k.Key(j)) < 0 })
	n := 1
	for i := 1; i < len(k.spans); i++ {
		if !bytes.Equal(k.Key(i), k.Key(n-1)) {
			k.spans[n] = k.spans[i]
			n++
		}
	}
	k.spans = k.spans[:n]
}

// state is how far the walk of one field has come: the value reached and the number of path components behind it.
type state struct {
	value bsonx.Value
	pos   int
	fixed bool // value is the field's final value
}

// Generate adds the keys of doc to out. It fails with CannotIndexParallelArrays where two fields of the pattern lead
// through different arrays.
//
// The rules are MongoDB's: a missing field is null; an array gives a key for each distinct element, an empty one
// undefined; an array inside an array is a value as a whole; a numeric path component steps into an array.
func (g *KeyGen) Generate(doc bsonx.Doc, out *Keys) error {
	if len(out.multikey) != len(g.fields) {
		out.multikey = make(MultikeyPaths, len(g.fields))
	}
	out.states = out.states[:0]
	for range g.fields {
		out.states = append(out.states, state{value: bsonx.Document(doc)})
	}
	if err := g.expand(0, out); err != nil {
		return err
	}
	out.sortUnique()
	return nil
}

// expand finishes the walks whose states stand from base on, expanding one array after the other.
func (g *KeyGen) expand(base int, out *Keys) error {
	var array bsonx.Value
	first := -1
	for i := range g.fields {
		st := &out.states[base+i]
		if st.fixed {
			continue
		}
		isArray, err := g.fields[i].walk(st)
		if err != nil {
			return err
		}
		if !isArray {
			st.fixed = true
			continue
		}
		out.multikey[i] |= 1 << (st.pos - 1)
		if first < 0 {
			first, array = i, st.value
		} else if &array.Data[0] != &st.value.Data[0] {
			return g.parallel(first, i)
		}
	}
	if first < 0 {
		g.emit(out.states[base:base+len(g.fields)], out)
		return nil
	}
	return g.elements(base, array, out)
}

// walk follows the path through documents. It stops at the end, or at an array that has to be expanded.
func (f *keyField) walk(st *state) (isArray bool, err error) {
	for st.pos < len(f.parts) {
		switch st.value.Type {
		case bsonx.TypeDocument:
			st.value = st.value.Doc().Lookup(f.parts[st.pos])
			st.pos++
		case bsonx.TypeArray:
			elem, ok, err := f.position(st)
			if err != nil || !ok {
				return true, err
			}
			st.value = elem
			st.pos++
		default:
			st.value, st.pos = bsonx.Missing, len(f.parts)
			return false, nil
		}
	}
	return st.value.Type == bsonx.TypeArray, nil
}

// codeAmbiguousField is the error of a numeric path component that can be a position and a field name.
const codeAmbiguousField = mongoerr.Code(16746)

// position returns the element of the array at st that the next path component names by its position.
func (f *keyField) position(st *state) (elem bsonx.Value, ok bool, err error) {
	if !f.numeric[st.pos] {
		return elem, false, nil
	}
	part := f.parts[st.pos]
	elem = st.value.Doc().Lookup(part)
	if elem.IsMissing() {
		return elem, false, nil
	}
	for it := st.value.Doc().Iter(); it.Next(); {
		if v := it.Value(); v.Type == bsonx.TypeDocument && !v.Doc().Lookup(part).IsMissing() {
			return elem, false, mongoerr.New(codeAmbiguousField,
				"Ambiguous field name found in array (do not use numeric field names in embedded elements in an array), field: '%s' for array: %s",
				part, bsonx.FormatShell(st.value))
		}
	}
	return elem, true, nil
}

// elements goes on with each element of the array at which some of the walks have stopped.
func (g *KeyGen) elements(base int, array bsonx.Value, out *Keys) error {
	next := len(out.states)
	empty := true
	for it := array.Doc().Iter(); it.Next(); {
		empty = false
		if err := g.element(base, next, it.Value(), out); err != nil {
			return err
		}
	}
	if !empty {
		return nil
	}
	return g.element(base, next, bsonx.Missing, out)
}

// element goes on with one element; a missing one stands for an empty array.
func (g *KeyGen) element(base, next int, elem bsonx.Value, out *Keys) error {
	out.states = append(out.states[:next], out.states[base:base+len(g.fields)]...)
	for i := range g.fields {
		st := &out.states[next+i]
		if st.fixed {
			continue
		}
		switch {
		case st.pos == len(g.fields[i].parts) && elem.IsMissing():
			*st = state{value: bsonx.Value{Type: bsonx.TypeUndefined}, fixed: true}
		case st.pos == len(g.fields[i].parts):
			*st = state{value: elem, fixed: true}
		case elem.Type == bsonx.TypeDocument:
			st.value = elem
		default:
			*st = state{value: bsonx.Missing, fixed: true}
		}
	}
	return g.expand(next, out)
}

// emit adds one key.
func (g *KeyGen) emit(states []state, out *Keys) {
	if g.sparse && allMissing(states) {
		return
	}
	out.bits.Reset()
	s := span{key: len(out.buf)}
	for i := range states {
		out.buf = keystring.AppendTyped(out.buf, &out.bits, states[i].value, g.fields[i].desc)
	}
	s.bits = len(out.buf)
	out.buf = append(out.buf, out.bits.Bytes()...)
	s.end = len(out.buf)
	out.spans = append(out.spans, s)
}

func allMissing(states []state) bool {
	for i := range states {
		if !states[i].value.IsMissing() {
			return false
		}
	}
	return true
}

func (g *KeyGen) parallel(i, j int) error {
	return mongoerr.New(mongoerr.CannotIndexParallelArrays, "cannot index parallel arrays [%s] [%s]",
		g.fields[j].parts[len(g.fields[j].parts)-1], g.fields[i].parts[len(g.fields[i].parts)-1])
}

// DecodeKey returns the fields of a key as a document with the names of the pattern.
func DecodeKey(p Pattern, key, typeBits []byte) (bsonx.Doc, error) {
	bits := keystring.NewTypeBitsReader(typeBits)
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	for _, f := range p {
		v, n, _, err := keystring.Decode(nil, key, f.Desc, &bits)
		if err != nil {
			return nil, err
		}
		b.Value(f.Path, v)
		key = key[n:]
	}
	b.End()
	return b.Bytes(), nil
}
