package bounds

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/index"
	"github.com/sheafdb/sheaf/internal/keystring"
)

// behind is a byte that sorts after every encoded value; see exec.Range.
const behind = 0xFF

// IsSimple reports whether bounds form one range of keys: leading fields with a single value each,
// then at most one field with a single interval, then fields that are not restricted.
func IsSimple(bounds []Intervals) bool {
	f := 0
	for f < len(bounds) && bounds[f].IsPoint() {
		f++
	}
	if f < len(bounds) && len(bounds[f]) == 1 {
		f++
	}
	for f < len(bounds) && bounds[f].IsAll() {
		f++
	}
	return f == len(bounds)
}

// Simple encodes the bounds of an index's fields if they form one range of keys. Otherwise it
// returns nil.
func Simple(bounds []Intervals, fields index.Pattern) *exec.Bounds {
	if !IsSimple(bounds) {
		return nil
	}
	// One buffer holds both ends: the common prefix, the lower end, and the upper end.
	buf := make([]byte, 0, keySize(bounds))
	f := 0
	for ; f < len(bounds) && bounds[f].IsPoint(); f++ {
		buf = keystring.Append(buf, bounds[f][0].Low, fields[f].Desc)
	}
	same := len(buf)
	if f == len(bounds) || bounds[f].IsAll() {
		buf = append(append(buf, buf...), behind)
		return &exec.Bounds{Lower: buf[:same:same], Upper: buf[same:], Single: f == len(bounds)}
	}
	low, high, lowIncl, highIncl := ends(bounds[f][0], fields[f].Desc)
	buf = appendEnd(buf, low, fields[f].Desc, !lowIncl)
	middle := len(buf)
	buf = append(buf, buf[:same]...)
	buf = appendEnd(buf, high, fields[f].Desc, highIncl)
	return &exec.Bounds{Lower: buf[:middle:middle], Upper: buf[middle:]}
}

// keySize estimates the size in bytes of both encoded ends. Every value occurs twice, and numbers
// take more space than in BSON.
func keySize(bounds []Intervals) int {
	const overhead = 8
	size := overhead
	for _, ivs := range bounds {
		if !ivs.IsAll() {
			size += len(ivs[0].Low.Data) + len(ivs[0].High.Data) + 2*overhead
		}
	}
	return size
}

// ranges encodes the bounds of a field, in byte order. It returns nil for bounds that contain every
// value.
func ranges(ivs Intervals, desc bool) []exec.Range {
	if ivs.IsAll() {
		return nil
	}
	out := make([]exec.Range, len(ivs))
	buf := make([]byte, 0, len(ivs)*rangeSize(ivs[0]))
	for i, iv := range ivs {
		if desc {
			out[len(ivs)-1-i], buf = appendRange(buf, iv, true)
		} else {
			out[i], buf = appendRange(buf, iv, false)
		}
	}
	return out
}

// rangeSize estimates the size in bytes of an encoded interval. The ends of a point share one key.
func rangeSize(iv Interval) int {
	const overhead = 8
	if iv.isPoint() {
		return len(iv.Low.Data) + overhead
	}
	return len(iv.Low.Data) + len(iv.High.Data) + 2*overhead
}

// RangeOf encodes an interval. desc is true for a descending field.
func RangeOf(iv Interval, desc bool) exec.Range {
	r, _ := appendRange(nil, iv, desc)
	return r
}

// appendRange encodes an interval at the end of buf, which many ranges share.
func appendRange(buf []byte, iv Interval, desc bool) (exec.Range, []byte) {
	low, high, lowIncl, highIncl := ends(iv, desc)
	start := len(buf)
	buf = appendEnd(buf, low, desc, !lowIncl)
	middle := len(buf)
	if iv.isPoint() {
		buf = append(buf, behind)
		return exec.Range{Lo: buf[start:middle:middle], Hi: buf[start:len(buf):len(buf)]}, buf
	}
	buf = appendEnd(buf, high, desc, highIncl)
	return exec.Range{Lo: buf[start:middle:middle], Hi: buf[middle:len(buf):len(buf)]}, buf
}

// ends returns the ends of an interval in byte order.
func ends(iv Interval, desc bool) (low, high bsonx.Value, lowIncl, highIncl bool) {
	if desc {
		return iv.High, iv.Low, iv.HighIncl, iv.LowIncl
	}
	return iv.Low, iv.High, iv.LowIncl, iv.HighIncl
}

// appendEnd encodes an end of an interval. If isBehind is true, the end is after all keys with the
// value, otherwise before them.
func appendEnd(buf []byte, v bsonx.Value, desc, isBehind bool) []byte {
	buf = keystring.Append(buf, v, desc)
	if isBehind {
		buf = append(buf, behind)
	}
	return buf
}

// FirstKey returns a key that is not greater than any key in bounds.
func FirstKey(fields [][]exec.Range) []byte {
	var key []byte
	for _, f := range fields {
		if f == nil {
			break
		}
		key = append(key, f[0].Lo...)
		if key[len(key)-1] == behind {
			break
		}
	}
	return key
}

// LastKey returns a key that is greater than all keys in bounds. It returns nil if the first field
// is not restricted.
func LastKey(fields [][]exec.Range) []byte {
	if fields[0] == nil {
		return nil
	}
	return exec.AppendEnd(nil, fields)
}
