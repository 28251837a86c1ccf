// Package bsonx operates on encoded BSON documents. It iterates over them, looks up fields and
// paths, compares and builds them, without decoding into maps.
//
// Invariants:
//
//  1. Validate checks each Doc once, when a client sends it or the catalog reads it. All other
//     functions rely on well-formed bytes and do not check them again.
//  2. A Value borrows the bytes of its document.
//  3. CompareValues implements MongoDB's sort order. Package keystring encodes the same order as
//     bytes.
//
// The package does not implement the query language: paths with MongoDB's array semantics are in
// package filter.
package bsonx

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"slices"
	"strconv"
)

// Doc is an encoded BSON document: its length, its fields, and a zero byte.
type Doc []byte

// Empty is the document without fields. It must not be modified.
var Empty = Doc{5, 0, 0, 0, 0}

// Elem is one field of a document. Key borrows the document's bytes.
type Elem struct {
	Key   []byte
	Value Value
}

// Iter iterates over the fields of a document in order:
//
//	for it := doc.Iter(); it.Next(); {
//		it.Key(), it.Value()
//	}
type Iter struct {
	doc Doc
	// The offsets of the current field's name and payload, and of the next field. With offsets
	// instead of slices, a step stores no pointers.
	name, payload, next int
}

// Iter returns an iterator before the first field. A nil Doc has no fields. The result is a
// pointer, because a for loop copies its variable at each iteration. The iterator stays on the
// stack.
func (d Doc) Iter() *Iter { return &Iter{doc: d, next: 4} }

// Next moves to the next field and reports whether there is one.
func (it *Iter) Next() bool {
	d, i := it.doc, it.next
	if i >= len(d)-1 {
		return false
	}
	n := longName
	if len(d)-i > 8 {
		n = zeroByte(binary.LittleEndian.Uint64(d[i+1:]))
	}
	if n == longName {
		n = cstringEnd(d[i+1:])
	}
	it.name = i + 1
	it.payload = i + 2 + n
	it.next = it.payload + payloadSize(Type(d[i]), d[it.payload:])
	return true
}

// Start returns the offset of the current field in the document.
func (it *Iter) Start() int { return it.name - 1 }

// Key returns the current field's name.
func (it *Iter) Key() []byte {
	if it.payload == 0 {
		return nil
	}
	return it.doc[it.name : it.payload-1]
}

// Value returns the current field's value.
func (it *Iter) Value() Value {
	if it.payload == 0 {
		return Value{}
	}
	return Value{Type(it.doc[it.name-1]), it.doc[it.payload:it.next:it.next]}
}

// Elem returns the current field.
func (it *Iter) Elem() Elem { return Elem{it.Key(), it.Value()} }

// Lookup returns the value of the first field named key, or Missing. Dots in key have no special
// meaning.
func (d Doc) Lookup(key string) Value {
	end := len(d) - 1
	for i := 4; i < end; {
		t := Type(d[i])
		name := d[i+1:]
		n := longName
		if len(name) >= 8 {
			n = zeroByte(binary.LittleEndian.Uint64(name))
		}
		if n == longName {
			n = cstringEnd(name)
		}
		payload := i + 2 + n
		size := payloadSize(t, d[payload:])
		if n == len(key) && string(name[:n]) == key {
			return Value{t, d[payload : payload+size : payload+size]}
		}
		i = payload + size
	}
	return Value{}
}

// LookupText returns the text of the first field named key. It returns "" if the field is missing
// or not a string.
func (d Doc) LookupText(key string) string {
	if v := d.Lookup(key); v.Type == TypeString {
		return v.Str()
	}
	return ""
}

// LookupPath looks up a field in embedded documents. It does not descend into arrays.
func (d Doc) LookupPath(path ...string) Value {
	v := Document(d)
	for _, key := range path {
		if v.Type != TypeDocument {
			return Value{}
		}
		v = v.Doc().Lookup(key)
	}
	return v
}

// Index returns the value of field i, or Missing. In an array this is element i.
func (d Doc) Index(i int) Value {
	for it := d.Iter(); it.Next(); i-- {
		if i == 0 {
			return it.Value()
		}
	}
	return Value{}
}

// Len returns the number of fields. It takes time proportional to the size of the document.
func (d Doc) Len() int {
	n := 0
	for it := d.Iter(); it.Next(); {
		n++
	}
	return n
}

// IsEmpty reports whether the document has no fields.
func (d Doc) IsEmpty() bool { return len(d) <= 5 }

// First returns the first field. Its value is Missing if the document is empty.
func (d Doc) First() Elem {
	it := d.Iter()
	it.Next()
	return it.Elem()
}

// Second returns the second field. Its value is Missing if the document has fewer than two fields.
func (d Doc) Second() Elem {
	it := d.Iter()
	it.Next()
	if !it.Next() {
		return Elem{}
	}
	return it.Elem()
}

// manyValues is the number of values from which Values estimates the number of remaining values,
// from the bytes read so far. Without the estimate, append would copy a large slice about four
// times.
const manyValues = 64

// Values returns the values of all fields. For an array these are the elements.
func (d Doc) Values() []Value {
	var out []Value
	for it := d.Iter(); it.Next(); {
		if n, read := len(out), it.Start(); n >= manyValues && n == cap(out) {
			out = slices.Grow(out, min(1+n*(len(d)-read)/read, 3*n))
		}
		out = append(out, it.Value())
	}
	return out
}

// Clone returns a copy of the document with its own bytes.
func (d Doc) Clone() Doc { return append(Doc(nil), d...) }

// Equal reports whether two documents have the same bytes.
func (d Doc) Equal(other Doc) bool { return bytes.Equal(d, other) }

// ArrayIndex parses a path component as an array index: decimal digits without a leading zero. It
// returns false for other text.
func ArrayIndex(key string) (int, bool) {
	if key == "" || len(key) > 9 || key[0] == '0' && len(key) > 1 {
		return 0, false
	}
	n := 0
	for i := range len(key) {
		if key[i] < '0' || key[i] > '9' {
			return 0, false
		}
		n = n*10 + int(key[i]-'0')
	}
	return n, true
}

// IndexKey returns the key of array element i.
func IndexKey(i int) string { return strconv.Itoa(i) }

// longName is the result of zeroByte for a word without a zero byte. Most field names are shorter
// than a word, so an iteration over fields finds the end of a name without a function call.
// Collection scans spend most of their time in such iterations.
const longName = 8

// zeroByte returns the index of the first zero byte of a word, or longName if the word has no zero
// byte.
func zeroByte(word uint64) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	return bits.TrailingZeros64((word-ones)&^word&highs) / 8
}

// cstringEnd returns the position of the first zero byte. It reads eight bytes at a time, because
// for short names this is faster than a call of bytes.IndexByte.
func cstringEnd(b []byte) int {
	i := 0
	for ; len(b)-i >= 8; i += 8 {
		if n := zeroByte(binary.LittleEndian.Uint64(b[i:])); n < longName {
			return i + n
		}
	}
	for ; i < len(b); i++ {
		if b[i] == 0 {
			return i
		}
	}
	return len(b)
}

// sizes contains the payload length of each type: a fixed length or, with varLen, a number to add
// to the length at the start of the payload. The entries of unknown types are never used, because
// documents are validated.
var sizes = [256]uint8{
	TypeDouble: 8, TypeDate: 8, TypeTimestamp: 8, TypeInt64: 8, TypeInt32: 4, TypeBool: 1,
	TypeObjectID: 12, TypeDecimal128: 16,
	TypeString: varLen | 4, TypeCode: varLen | 4, TypeSymbol: varLen | 4, TypeDocument: varLen, TypeArray: varLen,
	TypeCodeWithScope: varLen, TypeBinary: varLen | 5, TypeDBPointer: varLen | 16, TypeRegex: twoStrings,
}

const (
	varLen     = 0x80
	twoStrings = 0xFF
)

// ReadValue returns the value of type t at the beginning of b, and the rest of b. ok is false if b
// is truncated or a length is malformed. It does not check the contents of documents and arrays.
func ReadValue(t Type, b []byte) (v Value, rest []byte, ok bool) {
	size := int64(sizes[t])
	switch {
	case size == twoStrings:
		n := cstringEnd(b) + 1
		if n >= len(b) {
			return Value{}, nil, false
		}
		size = int64(n + cstringEnd(b[n:]) + 1)
	case size >= varLen:
		if len(b) < 4 {
			return Value{}, nil, false
		}
		size = size&^varLen + int64(int32(binary.LittleEndian.Uint32(b)))
	}
	if size < 0 || size > int64(len(b)) {
		return Value{}, nil, false
	}
	return Value{t, b[:size:size]}, b[size:], true
}

// payloadSize returns the length of a well-formed value's payload.
func payloadSize(t Type, b []byte) int {
	size := int(sizes[t])
	if size >= varLen {
		return variableSize(size, b)
	}
	return size
}

func variableSize(size int, b []byte) int {
	if size != twoStrings {
		return size&^varLen + int(binary.LittleEndian.Uint32(b))
	}
	n := cstringEnd(b) + 1
	return n + cstringEnd(b[n:]) + 1
}
