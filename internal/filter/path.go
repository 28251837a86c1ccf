package filter

import (
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/interrupt"
)

// Path is a compiled dotted path.
type Path struct {
	dotted string
	parts  []part
	first  [1]part // memory for a path with one part
}

type part struct {
	name  string
	index int // -1 if the name is not an array index
}

// LeafMode determines how a walk treats an array at the end of a path.
type LeafMode uint8

const (
	// Elements visits the elements of the array, then the array itself.
	Elements LeafMode = iota
	// Whole visits only the array itself.
	Whole
	// ElementsOnly visits only the elements.
	ElementsOnly
)

// NewPath compiles a dotted path.
func NewPath(dotted string) *Path {
	p := new(Path)
	p.init(dotted)
	return p
}

func (p *Path) init(dotted string) {
	p.dotted, p.parts = dotted, p.first[:0]
	for name := range strings.SplitSeq(dotted, ".") {
		index, ok := bsonx.ArrayIndex(name)
		if !ok {
			index = -1
		}
		p.parts = append(p.parts, part{name, index})
	}
}

// fieldName converts a name to a string. It does not allocate for the most frequent name.
func fieldName(key []byte) string {
	if string(key) == "_id" {
		return "_id"
	}
	return string(key)
}

// String returns the dotted path.
func (p *Path) String() string { return p.dotted }

// Len returns the number of components.
func (p *Path) Len() int { return len(p.parts) }

// Name returns component i.
func (p *Path) Name(i int) string { return p.parts[i].name }

// Walk calls visit for each value at the path, as query predicates see them. It descends into
// arrays, both implicitly and by numeric components. If a field of the path is absent, or is a
// scalar before the end of the path, Walk visits a missing value. Walk stops when visit returns
// true, and reports whether visit did.
func (p *Path) Walk(doc bsonx.Doc, mode LeafMode, visit func(v bsonx.Value) bool) bool {
	return walkDoc(doc, p.parts, mode, visitFunc(visit), nil, -1)
}

// visitor tests the values that a walk finds.
type visitor interface {
	matchElem(v bsonx.Value, st *state) bool
}

type visitFunc func(v bsonx.Value) bool

func (f visitFunc) matchElem(v bsonx.Value, _ *state) bool { return f(v) }

// match reports whether a value at the path satisfies m. It records the index in the array through
// which the walk reached the value.
func (p *Path) match(doc bsonx.Doc, mode LeafMode, m visitor, st *state) bool {
	if len(p.parts) == 1 {
		if st != nil && st.stopped(lookupWork(doc)) {
			return false
		}
		v := doc.Lookup(p.parts[0].name)
		if v.Type != bsonx.TypeArray {
			return m.matchElem(v, st)
		}
		return walkArray(v, nil, mode, m, st, -1)
	}
	return walkDoc(doc, p.parts, mode, m, st, -1)
}

// walkDoc visits the values at parts in doc. outer is the index of the element in the outermost
// array that the walk has entered, or -1 outside of arrays.
func walkDoc(doc bsonx.Doc, parts []part, mode LeafMode, m visitor, st *state, outer int) bool {
	for {
		if st != nil && st.stopped(lookupWork(doc)) {
			return false
		}
		v := doc.Lookup(parts[0].name)
		parts = parts[1:]
		switch {
		case v.Type == bsonx.TypeArray:
			return walkArray(v, parts, mode, m, st, outer)
		case len(parts) == 0:
			return visitOne(v, m, st, outer)
		case v.Type != bsonx.TypeDocument:
			return visitOne(bsonx.Missing, m, st, outer)
		}
		doc = v.Doc()
	}
}

func visitOne(v bsonx.Value, m visitor, st *state, outer int) bool {
	if !m.matchElem(v, st) {
		return false
	}
	st.record(outer)
	return true
}

// walkArray visits the values at the rest of a path in an array. rest may be empty.
func walkArray(array bsonx.Value, rest []part, mode LeafMode, m visitor, st *state, outer int) bool {
	if len(rest) > 0 {
		return walkThrough(array.Doc(), rest, mode, m, st, outer)
	}
	if mode != Whole {
		i := 0
		for it := array.Doc().Iter(); it.Next(); i++ {
			if st.stopped(interrupt.Step) {
				return false
			}
			if visitOne(it.Value(), m, st, outermost(outer, i)) {
				return true
			}
		}
		if mode == ElementsOnly {
			return false
		}
	}
	return visitOne(array, m, st, outer)
}

// walkThrough visits the elements of an array in the middle of a path. An element that is a
// document continues the path as if the array did not exist. A numeric component also selects an
// element by its index. An array directly inside an array is entered only by an index.
func walkThrough(array bsonx.Doc, rest []part, mode LeafMode, m visitor, st *state, outer int) bool {
	i := 0
	for it := array.Iter(); it.Next(); i++ {
		if st.stopped(interrupt.Step) {
			return false
		}
		v := it.Value()
		if v.Type == bsonx.TypeDocument && walkDoc(v.Doc(), rest, mode, m, st, outermost(outer, i)) {
			return true
		}
		if rest[0].index != i {
			continue
		}
		switch {
		case len(rest) == 1:
			// The positional operator $ does not use an index that the path itself names.
			if visitOne(v, m, st, outer) {
				return true
			}
		case v.Type == bsonx.TypeDocument:
			if walkDoc(v.Doc(), rest[1:], mode, m, st, outer) {
				return true
			}
		case v.Type == bsonx.TypeArray:
			if walkThrough(v.Doc(), rest[1:], mode, m, st, outer) {
				return true
			}
		}
	}
	return false
}

func outermost(outer, i int) int {
	if outer >= 0 {
		return outer
	}
	return i
}

// lookupWork returns the work of searching a document for a field that may be absent.
func lookupWork(doc bsonx.Doc) int { return interrupt.Step + len(doc)/2 }
