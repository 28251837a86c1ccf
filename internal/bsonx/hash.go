package bsonx

import (
	"encoding/binary"
	"hash/maphash"
	"math"
)

// hashSeed is random for each process, so that clients cannot choose values with equal hashes.
var hashSeed = maphash.MakeSeed()

// Hash64 returns a hash for sets and maps of values. It is valid only within one process. Values
// that CompareValues treats as equal have equal hashes, even if their types differ.
func Hash64(v Value) uint64 {
	var h maphash.Hash
	h.SetSeed(hashSeed)
	hashValue(&h, v)
	return h.Sum64()
}

func hashValue(h *maphash.Hash, v Value) {
	class := v.Type.Class()
	_ = h.WriteByte(byte(class))
	switch class {
	case ClassNumber:
		hashNumber(h, v)
	case ClassDocument:
		hashDoc(h, v.Doc())
	case ClassArray:
		for it := v.Doc().Iter(); it.Next(); {
			hashValue(h, it.Value())
		}
		_ = h.WriteByte(0)
	case ClassCodeWScope:
		code, scope := v.CodeWithScope()
		hashWord(h, uint64(len(code)))
		_, _ = h.WriteString(code)
		hashDoc(h, scope)
	case ClassBool:
		_ = h.WriteByte(byte(boolInt(v.Bool())))
	default: // in the other classes, equal values have equal payloads
		hashWord(h, uint64(len(v.Data)))
		_, _ = h.Write(v.Data)
	}
}

func hashDoc(h *maphash.Hash, d Doc) {
	for it := d.Iter(); it.Next(); {
		v := it.Value()
		_ = h.WriteByte(byte(v.Type.Class()))
		_, _ = h.Write(it.Key())
		_ = h.WriteByte(0)
		hashValue(h, v)
	}
	_ = h.WriteByte(0)
}

func hashWord(h *maphash.Hash, w uint64) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], w)
	_, _ = h.Write(b[:])
}

// hashNumber hashes a number as an int64 if it fits exactly, otherwise as a double if it fits
// exactly, and otherwise as a reduced decimal.
func hashNumber(h *maphash.Hash, v Value) {
	switch v.Type {
	case TypeDouble:
		hashDouble(h, v.Double())
	case TypeDecimal128:
		hashDecimal(h, v.Decimal())
	default:
		i, _ := v.AsInt64()
		hashWord(h, uint64(i))
	}
}

func hashDouble(h *maphash.Hash, f float64) {
	switch {
	case math.IsNaN(f):
		_ = h.WriteByte('n')
	case f == math.Trunc(f) && f >= -1<<63 && f < 1<<63:
		hashWord(h, uint64(int64(f)))
	default:
		_ = h.WriteByte('f')
		hashWord(h, math.Float64bits(f))
	}
}

func hashDecimal(h *maphash.Hash, d Decimal) {
	if d.Kind != DecimalFinite {
		hashDouble(h, d.Float64())
		return
	}
	if i, ok := decimalToInt64(d.Encode()); ok {
		if _, hi, lo, _, _ := d.Split(); hi|lo == 0 {
			hashWord(h, uint64(i))
			return
		}
	}
	if f, exact := d.TruncFloat64(); exact {
		if d.Neg {
			f = -f
		}
		hashDouble(h, f)
		return
	}
	d = d.Reduced()
	_ = h.WriteByte('d')
	hashWord(h, d.Hi)
	hashWord(h, d.Lo)
	hashWord(h, uint64(d.Exp)<<1|uint64(boolInt(d.Neg)))
}
