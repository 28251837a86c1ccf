package bsonx

import (
	"encoding/binary"
	"math"
	"slices"
	"strconv"
)

// Builder appends documents and arrays to a byte slice. Every Start must be matched by an End. Up
// to a nesting depth of shallow, the builder allocates only the slice.
//
//	b := bsonx.NewBuilder(nil)
//	b.StartDoc()            // the outermost document
//	b.Int32("n", 1)
//	b.StartArrayField("a")
//	b.Elem(v)               // array keys are counted
//	b.End()
//	b.End()
//	doc := bsonx.Doc(b.Bytes())
type Builder struct {
	buf []byte
	// open is the number of open documents and arrays. The first frames are in near, the others in
	// deep.
	open int
	near [shallow]frame
	deep []frame
}

// shallow is the nesting depth up to which a builder needs no memory for its frames.
const shallow = 4

type frame struct {
	start int
	next  int // the next array index; -1 in a document
}

// NewBuilder returns a builder that appends to buf.
func NewBuilder(buf []byte) *Builder { return &Builder{buf: buf} }

// Reset lets the builder append to buf.
func (b *Builder) Reset(buf []byte) { b.buf, b.open, b.deep = buf, 0, b.deep[:0] }

// Bytes returns the bytes appended so far.
func (b *Builder) Bytes() []byte { return b.buf }

// Len returns the length of Bytes.
func (b *Builder) Len() int { return len(b.buf) }

// Grow ensures capacity for n more bytes. It at least doubles the buffer, because append grows
// large buffers less and would copy a large reply many times.
func (b *Builder) Grow(n int) {
	if have := len(b.buf); cap(b.buf)-have < n {
		b.buf = slices.Grow(b.buf, max(n, have))
	}
}

// Move continues in another buffer, which must begin with the bytes appended so far.
func (b *Builder) Move(buf []byte) { b.buf = buf }

// Depth returns the number of open documents and arrays.
func (b *Builder) Depth() int { return b.open }

// StartDoc opens an outermost document.
func (b *Builder) StartDoc() { b.push(-1) }

// StartArray opens an outermost array.
func (b *Builder) StartArray() { b.push(0) }

// StartDocField opens an embedded document as a field.
func (b *Builder) StartDocField(key string) {
	b.key(TypeDocument, key)
	b.push(-1)
}

// StartArrayField opens an array as a field.
func (b *Builder) StartArrayField(key string) {
	b.key(TypeArray, key)
	b.push(0)
}

// StartDocElem opens a document as the next element of the open array.
func (b *Builder) StartDocElem() {
	b.nextKey(TypeDocument)
	b.push(-1)
}

// StartArrayElem opens an array as the next element of the open array.
func (b *Builder) StartArrayElem() {
	b.nextKey(TypeArray)
	b.push(0)
}

// End closes the innermost open document or array.
func (b *Builder) End() {
	b.buf = append(b.buf, 0)
	start := b.top().start
	b.open--
	if b.open >= shallow {
		b.deep = b.deep[:b.open-shallow]
	}
	binary.LittleEndian.PutUint32(b.buf[start:], uint32(len(b.buf)-start))
}

// Value appends a field; a missing value appends nothing.
func (b *Builder) Value(key string, v Value) {
	if v.Type == TypeMissing {
		return
	}
	b.key(v.Type, key)
	b.buf = append(b.buf, v.Data...)
}

// ValueBytes is Value for a key given as bytes.
func (b *Builder) ValueBytes(key []byte, v Value) {
	if v.Type == TypeMissing {
		return
	}
	b.buf = append(b.buf, byte(v.Type))
	b.buf = append(b.buf, key...)
	b.buf = append(b.buf, 0)
	b.buf = append(b.buf, v.Data...)
}

// Elem appends an element to the open array; a missing value becomes null.
func (b *Builder) Elem(v Value) {
	if v.Type == TypeMissing {
		v = Null
	}
	b.nextKey(v.Type)
	b.buf = append(b.buf, v.Data...)
}

// Fields appends all fields of a document to the open document.
func (b *Builder) Fields(d Doc) {
	if len(d) > 5 {
		b.buf = append(b.buf, d[4:len(d)-1]...)
	}
}

// Int32 appends an int32 field.
func (b *Builder) Int32(key string, i int32) {
	b.key(TypeInt32, key)
	b.buf = binary.LittleEndian.AppendUint32(b.buf, uint32(i))
}

// Int64 appends an int64 field.
func (b *Builder) Int64(key string, i int64) {
	b.key(TypeInt64, key)
	b.buf = binary.LittleEndian.AppendUint64(b.buf, uint64(i))
}

// Double appends a double field.
func (b *Builder) Double(key string, f float64) {
	b.key(TypeDouble, key)
	b.buf = binary.LittleEndian.AppendUint64(b.buf, math.Float64bits(f))
}

// Bool appends a bool field.
func (b *Builder) Bool(key string, v bool) {
	b.key(TypeBool, key)
	if v {
		b.buf = append(b.buf, 1)
	} else {
		b.buf = append(b.buf, 0)
	}
}

// String appends a string field.
func (b *Builder) String(key, s string) {
	b.key(TypeString, key)
	b.buf = binary.LittleEndian.AppendUint32(b.buf, uint32(len(s)+1))
	b.buf = append(b.buf, s...)
	b.buf = append(b.buf, 0)
}

// Null appends a null field.
func (b *Builder) Null(key string) { b.key(TypeNull, key) }

// Date appends a date field from milliseconds since 1970.
func (b *Builder) Date(key string, millis int64) {
	b.key(TypeDate, key)
	b.buf = binary.LittleEndian.AppendUint64(b.buf, uint64(millis))
}

// Doc appends a document as a field.
func (b *Builder) Doc(key string, d Doc) {
	b.key(TypeDocument, key)
	b.buf = append(b.buf, d...)
}

// Array appends an array as a field.
func (b *Builder) Array(key string, d Doc) {
	b.key(TypeArray, key)
	b.buf = append(b.buf, d...)
}

func (b *Builder) push(next int) {
	f := frame{start: len(b.buf), next: next}
	if b.open < shallow {
		b.near[b.open] = f
	} else {
		b.deep = append(b.deep, f)
	}
	b.open++
	b.buf = append(b.buf, 0, 0, 0, 0)
}

// top returns the frame of the innermost open document or array.
func (b *Builder) top() *frame {
	if b.open <= shallow {
		return &b.near[b.open-1]
	}
	return &b.deep[b.open-shallow-1]
}

func (b *Builder) key(t Type, key string) {
	b.buf = append(b.buf, byte(t))
	b.buf = append(b.buf, key...)
	b.buf = append(b.buf, 0)
}

func (b *Builder) nextKey(t Type) {
	top := b.top()
	b.buf = append(b.buf, byte(t))
	b.buf = strconv.AppendInt(b.buf, int64(top.next), 10)
	b.buf = append(b.buf, 0)
	top.next++
}

// NewDoc returns a document from alternating keys and Go values. The values may be Value, Doc (a
// document), string, bool, int32, int64, int (as int32 if it fits), float64, nil, []Value and []Doc
// (arrays). It panics for any other type. It is slow, and intended for replies and tests.
func NewDoc(pairs ...any) Doc {
	b := NewBuilder(nil)
	b.StartDoc()
	for i := 0; i < len(pairs); i += 2 {
		b.Value(pairs[i].(string), ValueOf(pairs[i+1]))
	}
	b.End()
	return Doc(b.Bytes())
}

// NewArray returns an array value. NewDoc lists the types of the elements.
func NewArray(values ...any) Value {
	b := NewBuilder(nil)
	b.StartArray()
	for _, v := range values {
		b.Elem(ValueOf(v))
	}
	b.End()
	return Array(b.Bytes())
}

// elementRoom returns an upper bound for the bytes of array element i without its value: the type
// and the key.
func elementRoom(i int) int {
	if i < 1000 {
		return 5
	}
	return 12
}

// ValueOf converts a Go value to a Value. NewDoc lists the types.
func ValueOf(v any) Value {
	switch v := v.(type) {
	case Value:
		return v
	case Doc:
		return Document(v)
	case string:
		return String(v)
	case bool:
		return Bool(v)
	case int32:
		return Int32(v)
	case int64:
		return Int64(v)
	case int:
		if int(int32(v)) == v {
			return Int32(int32(v))
		}
		return Int64(int64(v))
	case float64:
		return Double(v)
	case nil:
		return Null
	case []Value:
		size := 0
		for i, e := range v {
			size += len(e.Data) + elementRoom(i)
		}
		b := NewBuilder(make([]byte, 0, size+elementRoom(0)))
		b.StartArray()
		for _, e := range v {
			b.Elem(e)
		}
		b.End()
		return Array(b.Bytes())
	case []Doc:
		b := NewBuilder(nil)
		b.StartArray()
		for _, e := range v {
			b.Elem(Document(e))
		}
		b.End()
		return Array(b.Bytes())
	default:
		panic("bsonx: unsupported Go type")
	}
}
