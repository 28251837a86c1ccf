package index

import (
	"bytes"
	"cmp"
	"slices"
	"sort"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/keystring"
)

// Keys are the keys of one document: sorted and without duplicates. Reset lets the buffers be
// reused, and until then they back all returned slices. The zero value is ready to use.
type Keys struct {
	buf      []byte
	spans    []span
	multikey MultikeyPaths
	bits     keystring.TypeBits
	states   []state
	// path is the path of a wildcard field, as a BSON string.
	path     []byte
	regular  []bsonx.Value // values of the other fields of a wildcard index
	arrays   []string      // paths at which the wildcard field has met arrays
	arraySet map[string]struct{}

	running *interrupt.Running
	meter   interrupt.Meter
	ended   error // the reason why the operation ended
}

// keyWork is the work that is counted for each key, in addition to its bytes; see package
// interrupt.
const keyWork = 2 * interrupt.Step

// Serve sets the operation for which keys are made from now on. Generate fails if the operation
// ends. r may be nil.
func (k *Keys) Serve(r *interrupt.Running) { k.running, k.ended = r, nil }

// Read counts bytes of a document in which fields are searched. It fails if the operation has
// ended. A large document may have no keys, so counting only the keys would not notice the end.
func (k *Keys) Read(bytes int) error {
	if err := k.meter.Did(bytes, k.running); err != nil {
		k.ended = err
	}
	return k.ended
}

// span is the position of a key and its type bits in the buffer.
type span struct{ key, bits, end int }

// Reset drops the keys.
func (k *Keys) Reset() {
	k.buf, k.spans, k.ended = k.buf[:0], k.spans[:0], nil
	clear(k.multikey)
	if len(k.arrays) > 0 {
		k.arrays = k.arrays[:0]
		clear(k.arraySet)
	}
}

// Ended returns the error for which the document is not responsible: the operation has ended or has
// too little memory. It returns nil if there was no such error.
func (k *Keys) Ended() error { return k.ended }

// drop frees large buffers.
func (k *Keys) drop() {
	if k.Size() > largeKeys {
		k.buf, k.spans, k.states = nil, nil, nil
	}
}

// largeKeys is the largest size of the buffers, in bytes, that are kept for the next document.
const largeKeys = 256 << 10

// Size returns the memory of the keys in bytes.
func (k *Keys) Size() int { return cap(k.buf) + cap(k.spans)*spanBytes }

// keyOverhead estimates the number of bytes that a key has in addition to its value.
const keyOverhead = 64

// spanBytes is the size of a span.
const spanBytes = 24

// Len returns the number of keys.
func (k *Keys) Len() int { return len(k.spans) }

// Key returns the i-th key: the keystrings of the fields.
func (k *Keys) Key(i int) []byte { return k.keyOf(k.spans[i]) }

// TypeBits returns the type bits of the i-th key.
func (k *Keys) TypeBits(i int) []byte { return k.buf[k.spans[i].bits:k.spans[i].end] }

// Multikey returns which path components were arrays.
func (k *Keys) Multikey() MultikeyPaths { return k.multikey }

// ArrayPaths returns the paths at which a wildcard field has met arrays.
func (k *Keys) ArrayPaths() []string { return k.arrays }

func (k *Keys) addArray(path []byte) {
	if _, ok := k.arraySet[string(path)]; ok {
		return
	}
	if k.arraySet == nil {
		k.arraySet = map[string]struct{}{}
	}
	p := string(path)
	k.arraySet[p] = struct{}{}
	k.arrays = append(k.arrays, p)
}

// Has reports whether key is among the keys.
func (k *Keys) Has(key []byte) bool {
	_, found := sort.Find(len(k.spans), func(i int) int { return bytes.Compare(key, k.Key(i)) })
	return found
}

func (k *Keys) keyOf(s span) []byte { return k.buf[s.key:s.bits] }

// begin starts a key. The caller then calls append for each field, and finish or cancel.
func (k *Keys) begin() int {
	k.bits.Reset()
	return len(k.buf)
}

// fold returns a value as keys hold it: a collation replaces strings by their collation keys. If
// that fails, it sets k.ended.
func (k *Keys) fold(c *collation.Collator, v bsonx.Value) bsonx.Value {
	if c == nil {
		return v
	}
	folded, err := c.Fold(v, k.running)
	if err != nil {
		k.ended = err
	}
	return folded
}

func (k *Keys) append(v bsonx.Value, desc bool) {
	if len(v.Data) > largeKeys { // growing in steps would take the memory several times
		k.buf = slices.Grow(k.buf, len(v.Data)+bytes.Count(v.Data, []byte{0})+keyOverhead)
	}
	k.buf = keystring.AppendTyped(k.buf, &k.bits, v, desc)
}

func (k *Keys) cancel(start int) { k.buf = k.buf[:start] }

// finish ends the key. It drops the key if it equals the previous one, because elements of an array
// often give the same key in a row.
func (k *Keys) finish(start int) {
	if err := k.meter.Did(keyWork+len(k.buf)-start, k.running); err != nil {
		k.ended = err
	}
	s := span{key: start, bits: len(k.buf)}
	if n := len(k.spans); n > 0 && bytes.Equal(k.keyOf(k.spans[n-1]), k.keyOf(s)) {
		k.cancel(start)
		return
	}
	k.buf = append(k.buf, k.bits.Bytes()...)
	s.end = len(k.buf)
	k.spans = append(k.spans, s)
}

// sortUnique sorts the keys and drops duplicates. Equal keys may have different type bits, such as
// the keys of 1 and 1.0. The key that was generated first is kept, so that the entries of a
// document are deterministic. It fails if the operation has ended.
func (k *Keys) sortUnique() error {
	if k.ended != nil || len(k.spans) < 2 {
		return k.ended
	}
	if err := k.sort(); err != nil {
		return err
	}
	k.spans = slices.CompactFunc(k.spans, func(a, b span) bool { return bytes.Equal(k.keyOf(a), k.keyOf(b)) })
	return nil
}

// fewKeys is the number of keys that are sorted without checking the operation.
const fewKeys = 1 << 10

func (k *Keys) sort() error {
	if len(k.spans) > fewKeys {
		return interrupt.Sort(k.spans, interrupt.Step,
			func(a, b span) int { return bytes.Compare(k.keyOf(a), k.keyOf(b)) }, &k.meter, k.running)
	}
	slices.SortFunc(k.spans, func(a, b span) int {
		if c := bytes.Compare(k.keyOf(a), k.keyOf(b)); c != 0 {
			return c
		}
		return cmp.Compare(a.key, b.key)
	})
	return nil
}

// DecodeKey returns the fields of a key as a document with the names of the pattern.
func DecodeKey(p Pattern, key, typeBits []byte) (bsonx.Doc, error) {
	bits := keystring.NewTypeBitsReader(typeBits)
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	var buf []byte
	for _, f := range p {
		v, n, out, err := keystring.Decode(buf[:0], key, f.Desc, &bits)
		if err != nil {
			return nil, err
		}
		b.Value(f.Path, v)
		buf, key = out, key[n:]
	}
	b.End()
	return b.Bytes(), nil
}
