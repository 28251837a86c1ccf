package index

import (
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// KeyGen generates the keys of documents in an index with one pattern. It is immutable and safe for
// concurrent use. Keys holds the changing state.
type KeyGen struct {
	fields []keyField
	sparse bool
	// collation turns strings into their collation keys. A nil collation leaves them unchanged.
	collation *collation.Collator
}

// keyField is one field of the pattern, with its path split into components.
type keyField struct {
	parts []string
	desc  bool
}

func newKeyField(f Field) keyField { return keyField{parts: strings.Split(f.Path, "."), desc: f.Desc} }

// NewKeyGen returns the generator of a pattern. A sparse index has no key for a document (or array
// element) in which all fields are missing. With a collation, strings are encoded as their
// collation keys.
func NewKeyGen(p Pattern, sparse bool, c *collation.Collator) *KeyGen {
	g := &KeyGen{sparse: sparse, collation: c, fields: make([]keyField, len(p))}
	for i, f := range p {
		g.fields[i] = newKeyField(f)
	}
	return g
}

// state is the position of the walk along the path of one field.
type state struct {
	value bsonx.Value
	pos   int  // how many components of the path lead to value
	fixed bool // value is the field's value in the key
	// nested means that value is an array inside an array, which a numeric component selected by
	// position. At the end of a path such an array is one value, like every array inside an array.
	nested bool

	// The value to which the next component leads if it is a position in the array where the walk
	// has stopped. The component may also be a field's name in the elements of the array. Only the
	// elements decide which of the two applies.
	byPosition    bsonx.Value
	byPositionPos int
	isPosition    bool
	positionArray bool // the element at the position is itself an array
}

// Generate adds the keys of doc to out. It fails with CannotIndexParallelArrays if two fields of
// the pattern lead through different arrays.
//
// The rules are MongoDB's. A missing field is null. An array gives a key for each distinct element,
// and an empty array gives undefined. An array inside an array is a single value. A numeric
// component of a path is a position in an array, or the name of a field in its elements, but not
// both.
func (g *KeyGen) Generate(doc bsonx.Doc, out *Keys) error {
	if len(out.multikey) != len(g.fields) {
		out.multikey = make(MultikeyPaths, len(g.fields))
	}
	if g.withoutArrays(doc, out) {
		return out.ended
	}
	if cap(out.states) < len(g.fields) {
		out.states = make([]state, 0, 4*len(g.fields))
	}
	out.states = out.states[:len(g.fields)]
	clear(out.states)
	if err := g.level(0, doc, out); err != nil {
		return err
	}
	return out.sortUnique()
}

// withoutArrays adds the single key of a document in which no path meets an array. It reports false
// for other documents. If the operation ends, it sets out.ended. Most documents have no such array,
// and this is several times faster than the general algorithm.
func (g *KeyGen) withoutArrays(doc bsonx.Doc, out *Keys) bool {
	start, missing := out.begin(), 0
	for i := range g.fields {
		if out.Read(len(doc)) != nil {
			return true
		}
		f := &g.fields[i]
		v, _ := f.walk(doc.Lookup(f.parts[0]), 1)
		if v.Type == bsonx.TypeArray {
			out.cancel(start)
			return false
		}
		if v.IsMissing() {
			missing++
		}
		out.append(out.fold(g.collation, v), f.desc)
	}
	if g.sparse && missing == len(g.fields) {
		out.cancel(start)
	} else {
		out.finish(start)
	}
	return true
}

// level continues the walks in a document: the whole document, or an element of the array at which
// all unfinished walks have stopped. It either finishes all walks and adds a key, or finds the next
// array and continues with its elements.
func (g *KeyGen) level(base int, obj bsonx.Doc, out *Keys) error {
	first := -1
	states := out.states[base : base+len(g.fields)]
	for i := range states {
		st := &states[i]
		if st.fixed {
			continue
		}
		if err := out.Read(interrupt.Step + len(obj)); err != nil {
			return err
		}
		if err := g.fields[i].step(st, obj); err != nil {
			return err
		}
		switch {
		case st.value.Type != bsonx.TypeArray:
			st.fixed = true
		case first < 0:
			first = i
		case &states[first].value.Data[0] != &st.value.Data[0]:
			return mongoerr.New(mongoerr.CannotIndexParallelArrays, "cannot index parallel arrays [%s] [%s]",
				g.fields[i].parts[st.pos-1], g.fields[first].parts[states[first].pos-1])
		}
	}
	if first >= 0 {
		return g.elements(base, states[first].value, out)
	}
	if !g.sparse || !allMissing(states) {
		start := out.begin()
		for i := range states {
			out.append(out.fold(g.collation, states[i].value), g.fields[i].desc)
		}
		out.finish(start)
	}
	return nil
}

// codeAmbiguousField is the error code for a numeric path component that can be both a position and
// a field's name.
const codeAmbiguousField = mongoerr.Code(16746)

// step continues a walk from its current document to the end of its path or to the next array.
func (f *keyField) step(st *state, obj bsonx.Doc) error {
	part := f.parts[st.pos]
	v := obj.Lookup(part)
	if !st.isPosition {
		st.value, st.pos = f.walk(v, st.pos+1)
		st.nested = false
		return nil
	}
	st.isPosition = false
	if !v.IsMissing() {
		return mongoerr.New(codeAmbiguousField, "Ambiguous field name found in array (do not use numeric field names in "+
			"embedded elements in an array), field: '%s' for array: %s", part,
			bsonx.FormatShell(bsonx.Document(st.value.Doc())))
	}
	st.value, st.pos, st.nested = st.byPosition, st.byPositionPos, st.positionArray
	return nil
}

// walk follows the path through documents, starting at v after the first pos components.
func (f *keyField) walk(v bsonx.Value, pos int) (bsonx.Value, int) {
	for pos < len(f.parts) {
		switch v.Type {
		case bsonx.TypeDocument:
			v = v.Doc().Lookup(f.parts[pos])
			pos++
		case bsonx.TypeArray:
			return v, pos
		default:
			return bsonx.Missing, len(f.parts)
		}
	}
	return v, pos
}

// elements continues the walks with each element of the array at which the unfinished walks have
// stopped.
func (g *KeyGen) elements(base int, array bsonx.Value, out *Keys) error {
	whole := false // the array counts as one value
	states := out.states[base : base+len(g.fields)]
	for i := range states {
		if st := &states[i]; !st.fixed {
			whole = whole || st.nested && st.pos == len(g.fields[i].parts)
		}
	}
	for i := range states {
		st := &states[i]
		if st.fixed {
			continue
		}
		if st.pos < len(g.fields[i].parts) {
			g.fields[i].lookAhead(st)
		}
		single := st.isPosition || st.nested && (st.pos == len(g.fields[i].parts) || array.Doc().IsEmpty())
		if !single { // the field may have more than one key
			out.multikey[i] |= 1 << (st.pos - 1)
		}
	}
	if array.Doc().IsEmpty() {
		return g.element(base, bsonx.Undefined, bsonx.Undefined, out)
	}
	for it := array.Doc().Iter(); it.Next(); {
		value := it.Value()
		if whole {
			value = array
		}
		if err := g.element(base, value, it.Value(), out); err != nil {
			return err
		}
		if out.ended != nil {
			return out.ended
		}
	}
	return nil
}

// lookAhead looks up the next component as a position in the array at which the walk has stopped.
func (f *keyField) lookAhead(st *state) {
	elem := st.value.Doc().Lookup(f.parts[st.pos])
	if st.isPosition = !elem.IsMissing(); !st.isPosition {
		return
	}
	st.positionArray = elem.Type == bsonx.TypeArray
	st.byPosition, st.byPositionPos = f.walk(elem, st.pos+1)
}

// element continues with one element. Walks that end at the array get value, the others continue at
// elem.
func (g *KeyGen) element(base int, value, elem bsonx.Value, out *Keys) error {
	next := base + len(g.fields)
	out.states = append(out.states[:next], out.states[base:next]...)
	for i := range g.fields {
		if st := &out.states[next+i]; !st.fixed && st.pos == len(g.fields[i].parts) {
			st.value, st.fixed = value, true
		}
	}
	var obj bsonx.Doc
	if elem.Type == bsonx.TypeDocument {
		obj = elem.Doc()
	}
	return g.level(next, obj, out)
}

func allMissing(states []state) bool {
	for i := range states {
		if !states[i].value.IsMissing() {
			return false
		}
	}
	return true
}
