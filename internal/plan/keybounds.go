package plan

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/index"
	"github.com/sheafdb/sheaf/internal/keystring"
)

// behind is a byte that stands behind every encoded value; see exec.Range.
const behind = 0xFF

// isSimple reports whether bounds are one range of keys: single values, then a single interval, then everything.
func isSimple(bounds []intervals) bool {
	f := 0
	for f < len(bounds) && bounds[f].isPoint() {
		f++
	}
	if f < len(bounds) && len(bounds[f]) == 1 {
		f++
	}
	for f < len(bounds) && bounds[f].isAll() {
		f++
	}
	return f == len(bounds)
}

// simpleBounds encodes the bounds of an index's fields if they are one range of keys, else it returns nil.
func simpleBounds(bounds []intervals, fields index.Pattern) *exec.Bounds {
	if !isSimple(bounds) {
		return nil
	}
	// Both ends are written into one piece of memory: what is the same for both, the lower end, the upper end.
	buf := make([]byte, 0, keySize(bounds))
	f := 0
	for ; f < len(bounds) && bounds[f].isPoint(); f++ {
		buf = keystring.Append(buf, bounds[f][0].low, fields[f].Desc)
	}
	same := len(buf)
	if f == len(bounds) || bounds[f].isAll() {
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

// keySize estimates how many bytes both ends of bounds take: every value is there twice, numbers take more than in BSON.
func keySize(bounds []intervals) int {
	const overhead = 8
	size := overhead
	for _, ivs := range bounds {
		if !ivs.isAll() {
			size += len(ivs[0].low.Data) + len(ivs[0].high.Data) + 2*overhead
		}
	}
	return size
}

// ranges encodes the bounds of a field in the order of the bytes; nil is everything.
func ranges(ivs intervals, desc bool) []exec.Range {
	if ivs.isAll() {
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

// rangeSize estimates how many bytes the range of an interval takes: both ends of a point are one key.
func rangeSize(iv interval) int {
	const overhead = 8
	if iv.isPoint() {
		return len(iv.low.Data) + overhead
	}
	return len(iv.low.Data) + len(iv.high.Data) + 2*overhead
}

func rangeOf(iv interval, desc bool) exec.Range {
	r, _ := appendRange(nil, iv, desc)
	return r
}

// appendRange encodes an interval behind buf, which many ranges share.
func appendRange(buf []byte, iv interval, desc bool) (exec.Range, []byte) {
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

// ends returns the ends of an interval in the order of the bytes.
func ends(iv interval, desc bool) (low, high bsonx.Value, lowIncl, highIncl bool) {
	if desc {
		return iv.high, iv.low, iv.highIncl, iv.lowIncl
	}
	return iv.low, iv.high, iv.lowIncl, iv.highIncl
}

// appendEnd encodes an end of an interval: before the keys with that value, or behind them.
func appendEnd(buf []byte, v bsonx.Value, desc, isBehind bool) []byte {
	buf = keystring.Append(buf, v, desc)
	if isBehind {
		buf = append(buf, behind)
	}
	return buf
}

// first returns the least key that can be in bounds.
func first(fields [][]exec.Range) []byte {
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

// last returns a key behind all that can be in bounds.
func last(fields [][]exec.Range) []byte {
	if fields[0] == nil {
		return nil
	}
	return exec.AppendEnd(nil, fields)
}
