package timeseries

import (
	"bytes"
	"encoding/binary"
	"math"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

// A column has the values of one field, in MongoDB's format of compressed columns:
//
//	column  = block* 0x00
//	block   = type 0x00 payload                 a value as it is: a BSON element without a name
//	        | control word{n}                   deltas to the value before; low nibble of control: n - 1
//	control = 0x80 of integers, or bits of doubles; 0x90 … 0xD0 of doubles times 1, 10, 100, 10^4, 10^8
//
// Deltas are zigzag numbers in simple8b words. Times, timestamps and ObjectIds use deltas of
// deltas, which start at zero after an uncompressed value. For types without arithmetic, a delta of
// zero repeats the value.

// scales are the factors that turn decimal fractions into integers, in the order of their control
// bytes from 0x90 on.
var scales = [...]float64{1, 10, 100, 10_000, 100_000_000}

const (
	controlPlain = 0x80
	// bitsScale means that the bits of a double are used as an integer.
	bitsScale = -1
	// noScale means that no scale was chosen yet.
	noScale = -2
	// maxScaled is the limit for a double times its scale.
	maxScaled = 1 << 53
	maxWords  = 16
	// minRun is the number of doubles for which a new scale must fit to pay off.
	minRun = 4
)

func controlOf(scale int) byte {
	if scale < 0 {
		return controlPlain
	}
	return byte(0x90 + scale<<4)
}

// columnEncoder appends a column to dst.
type columnEncoder struct {
	dst     []byte
	pending []uint64 // deltas that are not packed yet
	prev    bsonx.Value
	number  int64 // prev as an integer
	delta   int64
	scale   int // scale of the deltas in pending
}

// appendColumn appends the column of values. Missing values become gaps.
func (e *columnEncoder) appendColumn(dst []byte, values []bsonx.Value) []byte {
	*e = columnEncoder{dst: dst, pending: e.pending[:0], scale: noScale}
	for i, v := range values {
		if v.Type == bsonx.TypeMissing {
			e.pending = append(e.pending, missing)
			continue
		}
		if d, ok := e.packed(v, values[i:]); ok {
			e.pending = append(e.pending, d)
		} else {
			e.literal(v)
		}
		e.prev = v
	}
	e.flush()
	return append(e.dst, 0)
}

func (e *columnEncoder) literal(v bsonx.Value) {
	e.flush()
	e.dst = append(e.dst, byte(v.Type), 0)
	e.dst = append(e.dst, v.Data...)
	e.delta, e.scale = 0, noScale
	e.number, _ = integerOf(v)
}

// flush packs the pending deltas.
func (e *columnEncoder) flush() {
	control := -1
	words := 0
	var last uint64
	for i := 0; i < len(e.pending); {
		if words%maxWords == 0 {
			control, words = len(e.dst), 0
			e.dst = append(e.dst, controlOf(e.scale))
		}
		word, n := nextWord(e.pending[i:], last, words > 0)
		e.dst = binary.LittleEndian.AppendUint64(e.dst, word)
		e.dst[control] = e.dst[control]&0xF0 | byte(words)
		i += n
		words++
		last = e.pending[i-1]
	}
	e.pending = e.pending[:0]
}

// packed returns the delta between a value and the previous one. rest begins with the value.
func (e *columnEncoder) packed(v bsonx.Value, rest []bsonx.Value) (uint64, bool) {
	if v.Type != e.prev.Type {
		return 0, false
	}
	if v.Type == bsonx.TypeDouble {
		return e.packedDouble(v, rest)
	}
	number, ok := integerOf(v)
	if !ok || v.Type == bsonx.TypeObjectID && !bytes.Equal(v.Data[4:9], e.prev.Data[4:9]) {
		return 0, bytes.Equal(v.Data, e.prev.Data) && v.Type != bsonx.TypeObjectID
	}
	delta := number - e.number
	packed := delta
	if hasDeltaOfDelta(v.Type) {
		packed -= e.delta
	}
	u := zigzag(packed)
	if u > maxPacked {
		return 0, false
	}
	e.number, e.delta = number, delta
	return u, true
}

func (e *columnEncoder) packedDouble(v bsonx.Value, rest []bsonx.Value) (uint64, bool) {
	f := v.Double()
	if e.scale != noScale {
		if number, ok := scaled(f, e.scale); ok {
			return e.step(number)
		}
		e.flush()
	}
	e.scale = bestScale(e.prev.Double(), rest)
	e.number, _ = scaled(e.prev.Double(), e.scale)
	number, ok := scaled(f, e.scale)
	if !ok {
		return 0, false
	}
	return e.step(number)
}

func (e *columnEncoder) step(number int64) (uint64, bool) {
	u := zigzag(number - e.number)
	if u > maxPacked {
		return 0, false
	}
	e.number = number
	return u, true
}

// bestScale returns the scale that fits prev and the longest run of values from the first on. If
// several scales do, it returns the smallest.
func bestScale(prev float64, values []bsonx.Value) int {
	best, most := bitsScale, 0
	for s := range scales {
		if _, ok := scaled(prev, s); !ok {
			continue
		}
		n := 0
		for ; n < len(values); n++ {
			if values[n].Type == bsonx.TypeMissing {
				continue
			}
			if values[n].Type != bsonx.TypeDouble {
				break
			}
			if _, ok := scaled(values[n].Double(), s); !ok {
				break
			}
		}
		if n > most {
			best, most = s, n
		}
		if n == len(values) {
			break
		}
	}
	if most < min(minRun, len(values)) {
		return bitsScale
	}
	return best
}

// scaled returns a double times a scale. It reports false if the result is not an integer, or if
// the double cannot be restored from it.
func scaled(f float64, scale int) (int64, bool) {
	if scale < 0 {
		return int64(math.Float64bits(f)), true
	}
	product := math.Round(f * scales[scale])
	if !(product > -maxScaled && product < maxScaled) {
		return 0, false
	}
	n := int64(product)
	return n, math.Float64bits(float64(n)/scales[scale]) == math.Float64bits(f)
}

func unscaled(n int64, scale int) float64 {
	if scale < 0 {
		return math.Float64frombits(uint64(n))
	}
	return float64(n) / scales[scale]
}

func hasDeltaOfDelta(t bsonx.Type) bool {
	return t == bsonx.TypeDate || t == bsonx.TypeTimestamp || t == bsonx.TypeObjectID
}

// integerOf returns the integer that represents a value in deltas.
func integerOf(v bsonx.Value) (int64, bool) {
	switch v.Type {
	case bsonx.TypeInt32:
		return int64(v.Int32()), true
	case bsonx.TypeInt64, bsonx.TypeDate, bsonx.TypeTimestamp:
		return int64(binary.LittleEndian.Uint64(v.Data)), true
	case bsonx.TypeBool:
		return int64(v.Data[0]), true
	case bsonx.TypeObjectID:
		return objectIDNumber(v.Data), true
	default:
		return 0, false
	}
}

// objectIDNumber interleaves the counter of an ObjectId with its time, least significant bytes
// first. The bytes between them are equal in both ids of a delta.
func objectIDNumber(id []byte) int64 {
	n := uint64(id[11]) | uint64(id[3])<<8 | uint64(id[10])<<16 | uint64(id[2])<<24 | uint64(id[9])<<32 |
		uint64(id[1])<<40 | uint64(id[0])<<48
	return int64(n)
}

// setObjectID is the inverse of objectIDNumber.
func setObjectID(id []byte, number int64) {
	n := uint64(number)
	id[11], id[3], id[10], id[2] = byte(n), byte(n>>8), byte(n>>16), byte(n>>24)
	id[9], id[1], id[0] = byte(n>>32), byte(n>>40), byte(n>>48)
}

func zigzag(n int64) uint64 { return uint64(n<<1) ^ uint64(n>>63) }

func unzigzag(u uint64) int64 { return int64(u>>1) ^ -int64(u&1) }
