package index

import (
	"crypto/md5" //nolint:gosec // MongoDB's hash of index keys, no protection
	"encoding/binary"
	"hash"
	"math"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/numeric"
)

// HashedKey returns MongoDB's hash of a value in a hashed index: the first eight bytes of an MD5
// over a zero seed and the value. A double is truncated and a decimal is rounded to a whole number
// before it is hashed, so that equal whole numbers of all types have the same hash. It fails if the
// operation r ends. r may be nil.
func HashedKey(v bsonx.Value, r *interrupt.Running) (int64, error) { return hashOf(v, false, r) }

func hashOf(v bsonx.Value, truncate bool, r *interrupt.Running) (int64, error) {
	var room [128]byte
	h := keyHash{input: room[:4], truncate: truncate, watch: interrupt.Watch{Running: r}} // begins with the zero seed
	h.value(v)
	if err := h.watch.Ended(); err != nil {
		return 0, err
	}
	if h.long == nil {
		sum := md5.Sum(h.input) //nolint:gosec // see above
		return int64(binary.LittleEndian.Uint64(sum[:])), nil
	}
	_, _ = h.long.Write(h.input)
	return int64(binary.LittleEndian.Uint64(h.long.Sum(nil))), nil
}

const (
	// hashedAtOnce is the number of bytes that are collected before they are hashed.
	hashedAtOnce = 16 << 10
	// hashWork is the work that is counted for each byte; see package interrupt.
	hashWork = 8
)

// keyHash collects bytes and hashes them, in pieces if there are many.
type keyHash struct {
	input    []byte    // bytes that were not hashed yet
	long     hash.Hash // hash of the earlier bytes; nil if all bytes are in input
	truncate bool      // truncate decimals as well as doubles
	watch    interrupt.Watch
}

// write adds bytes, and hashes them in pieces if there are many.
func (h *keyHash) write(b []byte) {
	for len(b) > hashedAtOnce && !h.stopped() {
		h.input, b = append(h.input, b[:hashedAtOnce]...), b[hashedAtOnce:]
	}
	h.input = append(h.input, b...)
}

// stopped hashes the collected bytes if there are many, and reports whether the operation has
// ended.
func (h *keyHash) stopped() bool {
	if len(h.input) < hashedAtOnce {
		return h.watch.Ended() != nil
	}
	if h.watch.Stopped(len(h.input) * hashWork) {
		return true
	}
	if h.long == nil {
		h.long = md5.New() //nolint:gosec // see above
	}
	_, _ = h.long.Write(h.input)
	h.input = h.input[:0]
	return false
}

func (h *keyHash) int32(i int32) { h.input = binary.LittleEndian.AppendUint32(h.input, uint32(i)) }

func (h *keyHash) value(v bsonx.Value) {
	h.int32(canonicalType(v.Type))
	h.content(v)
}

func (h *keyHash) content(v bsonx.Value) {
	switch v.Type {
	case bsonx.TypeInt32, bsonx.TypeInt64, bsonx.TypeDouble, bsonx.TypeDecimal128:
		h.input = binary.LittleEndian.AppendUint64(h.input, uint64(h.wholePart(v)))
	case bsonx.TypeDocument, bsonx.TypeArray:
		h.fields(v.Doc())
	case bsonx.TypeCodeWithScope:
		code, scope := v.CodeWithScope()
		h.input = append(append(h.input, code...), 0)
		h.fields(scope)
	default:
		h.write(v.Data)
	}
}

// fields hashes each field as type, name and value, and the end of the document as a type.
func (h *keyHash) fields(d bsonx.Doc) {
	for it := d.Iter(); !h.stopped() && it.Next(); {
		h.int32(canonicalType(it.Value().Type))
		h.input = append(append(h.input, it.Key()...), 0)
		h.content(it.Value())
	}
	h.int32(0)
}

// wholePart truncates a double, rounds a decimal, and limits both to an int64; NaN is 0.
func (h *keyHash) wholePart(v bsonx.Value) int64 {
	switch {
	case v.Type != bsonx.TypeDecimal128:
	case h.truncate:
		v, _ = numeric.Trunc(v, 0)
	default:
		v, _ = numeric.Round(v, 0)
	}
	if i, ok := v.AsInt64(); ok {
		return i
	}
	switch f, _ := v.AsFloat64(); {
	case f > 0:
		return math.MaxInt64
	case f < 0:
		return math.MinInt64
	}
	return 0
}

// canonicalType returns the number by which MongoDB sorts and hashes types.
func canonicalType(t bsonx.Type) int32 {
	switch t {
	case bsonx.TypeMinKey:
		return -1
	case bsonx.TypeMaxKey:
		return 127
	case bsonx.TypeMissing, bsonx.TypeUndefined:
		return 0
	case bsonx.TypeNull:
		return 5
	case bsonx.TypeInt32, bsonx.TypeInt64, bsonx.TypeDouble, bsonx.TypeDecimal128:
		return 10
	case bsonx.TypeString, bsonx.TypeSymbol:
		return 15
	case bsonx.TypeDocument:
		return 20
	case bsonx.TypeArray:
		return 25
	case bsonx.TypeBinary:
		return 30
	case bsonx.TypeObjectID:
		return 35
	case bsonx.TypeBool:
		return 40
	case bsonx.TypeDate:
		return 45
	case bsonx.TypeTimestamp:
		return 47
	case bsonx.TypeRegex:
		return 50
	case bsonx.TypeDBPointer:
		return 55
	case bsonx.TypeCode:
		return 60
	default: // code with scope
		return 65
	}
}
