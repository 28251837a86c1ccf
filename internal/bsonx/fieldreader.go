package bsonx

import (
	"encoding/binary"
	"slices"
)

// FieldReader looks up several fields in a sequence of documents. It iterates over each document at
// most once, and only up to the last requested field. It belongs to one goroutine.
//
// The documents of a collection usually have the same fields in the same order. The reader
// remembers the field names of the last document by position. If the next document has the same
// name at the same position, the reader searches neither for the name nor for its end.
type FieldReader struct {
	names   []string
	index   map[string]int // the positions of names, if there are many; nil otherwise
	spans   []span
	doc     Doc
	next    int // the offset of the next field to read
	ordinal int // the position of the next field among the fields of the document
	learned []fieldGuess
}

// span is the position of a field's payload. start is 0 until the field is found.
type span struct {
	start, end int32
	t          Type
}

// fieldGuess is a remembered field name, and its position among the requested names, or -1 if the
// name is not requested.
type fieldGuess struct {
	// A name of up to seven bytes, with its zero byte, equals word under mask. For a longer name
	// mask is 0 and word is not 0, so the comparison fails.
	word, mask uint64
	name       []byte
	field      int
}

// maxGuesses is the largest number of names that a reader remembers.
const maxGuesses = 64

// manyNames is the number of names from which a map is faster than a linear search.
const manyNames = 32

// NewFieldReader returns a reader for fields with the given names, which must not change. For 32 or
// more names, index must contain the position of each name; several readers may share it.
func NewFieldReader(names []string, index map[string]int) *FieldReader {
	r := &FieldReader{names: names, spans: make([]span, len(names))}
	if len(names) >= manyNames {
		r.index = index
	}
	return r
}

// Read sets the document to read.
func (r *FieldReader) Read(doc Doc) {
	r.doc, r.next, r.ordinal = doc, 4, 0
	clear(r.spans)
}

// Value returns the value of the first field with name number i, or Missing.
func (r *FieldReader) Value(i int) Value {
	s := &r.spans[i]
	if s.start == 0 {
		r.find(i)
	}
	if s.start == 0 {
		return Missing
	}
	return Value{s.t, r.doc[s.start:s.end:s.end]}
}

// find iterates over the document until it finds the field with name number wanted.
func (r *FieldReader) find(wanted int) {
	d, learned := r.doc, r.learned
	for r.next < len(d)-1 {
		at := r.next
		var n, field int
		if r.ordinal < len(learned) && len(d)-at > 8 &&
			binary.LittleEndian.Uint64(d[at+1:])&learned[r.ordinal].mask == learned[r.ordinal].word {
			n, field = len(learned[r.ordinal].name), learned[r.ordinal].field
		} else {
			n, field = r.name(d[at+1:])
			learned = r.learned
		}
		t, payload := Type(d[at]), at+n+2
		r.next = payload + payloadSize(t, d[payload:])
		r.ordinal++
		if field < 0 || r.spans[field].start != 0 {
			continue
		}
		r.spans[field] = span{int32(payload), int32(r.next), t}
		if field == wanted {
			return
		}
	}
}

// name returns the length of the field name at the start of b, and its position among the requested
// names, or -1.
func (r *FieldReader) name(b []byte) (n, field int) {
	if r.ordinal < len(r.learned) {
		g := &r.learned[r.ordinal]
		if n = len(g.name); n < len(b) && b[n] == 0 && string(b[:n]) == string(g.name) {
			return n, g.field
		}
	}
	n = cstringEnd(b)
	field = r.wanted(b[:n])
	r.learn(b[:n], field)
	return n, field
}

// wanted returns the position of a name among the requested names, or -1.
func (r *FieldReader) wanted(name []byte) int {
	if r.index == nil {
		return slices.Index(r.names, string(name))
	}
	if i, ok := r.index[string(name)]; ok {
		return i
	}
	return -1
}

// learn remembers the field name at the current position.
func (r *FieldReader) learn(name []byte, field int) {
	if r.ordinal == len(r.learned) && r.ordinal < maxGuesses {
		r.learned = append(r.learned, fieldGuess{})
	}
	if r.ordinal >= len(r.learned) {
		return
	}
	g := &r.learned[r.ordinal]
	g.name, g.field = append(g.name[:0], name...), field
	g.word, g.mask = 1, 0
	if len(name) < 8 {
		var word [8]byte
		copy(word[:], name)
		g.word, g.mask = binary.LittleEndian.Uint64(word[:]), ^uint64(0)>>(8*(7-len(name)))
	}
}
