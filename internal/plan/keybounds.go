package plan

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/keystring"
)

// behind is a byte that stands behind every encoded value; see exec.Range.
const behind = 0xFF

// keyBounds encodes the bounds of a scan; nil where they hold nothing.
func keyBounds(n *indexScan) *exec.Bounds {
	if n.min != nil || n.max != nil {
		return minMaxBounds(n)
	}
	for _, ivs := range n.bounds {
		if len(ivs) == 0 {
			return nil
		}
	}
	if b := simpleBounds(n); b != nil {
		return b
	}
	b := &exec.Bounds{}
	for f, ivs := range n.bounds {
		desc := n.index.fields[f].Desc
		b.Desc = append(b.Desc, desc)
		b.Fields = append(b.Fields, ranges(ivs, desc))
	}
	if n.backward {
		b.Upper = last(b.Fields)
	} else {
		b.Lower = first(b.Fields)
	}
	return b
}

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

// simpleBounds encodes bounds that are one range of keys, else it returns nil.
func simpleBounds(n *indexScan) *exec.Bounds {
	if !isSimple(n.bounds) {
		return nil
	}
	var prefix []byte
	for f, ivs := range n.bounds {
		desc := n.index.fields[f].Desc
		if ivs.isPoint() {
			prefix = keystring.Append(prefix, ivs[0].low, desc)
			continue
		}
		b := &exec.Bounds{Lower: prefix, Upper: after(prefix)}
		if !ivs.isAll() {
			r := rangeOf(ivs[0], desc)
			b.Lower = append(prefix[:len(prefix):len(prefix)], r.Lo...)
			b.Upper = append(prefix[:len(prefix):len(prefix)], r.Hi...)
		}
		return b
	}
	return &exec.Bounds{Lower: prefix, Upper: after(prefix)}
}

// after returns the bound behind all keys with a prefix.
func after(prefix []byte) []byte { return append(prefix[:len(prefix):len(prefix)], behind) }

// ranges encodes the bounds of a field in the order of the bytes; nil is everything.
func ranges(ivs intervals, desc bool) []exec.Range {
	if ivs.isAll() {
		return nil
	}
	out := make([]exec.Range, len(ivs))
	var buf []byte
	for i, iv := range ivs {
		if desc {
			out[len(ivs)-1-i], buf = appendRange(buf, iv, true)
		} else {
			out[i], buf = appendRange(buf, iv, false)
		}
	}
	return out
}

func rangeOf(iv interval, desc bool) exec.Range {
	r, _ := appendRange(nil, iv, desc)
	return r
}

// appendRange encodes an interval behind buf, which many ranges share.
func appendRange(buf []byte, iv interval, desc bool) (exec.Range, []byte) {
	low, high, lowIncl, highIncl := iv.low, iv.high, iv.lowIncl, iv.highIncl
	if desc {
		low, high, lowIncl, highIncl = high, low, highIncl, lowIncl
	}
	start := len(buf)
	buf = keystring.Append(buf, low, desc)
	if !lowIncl {
		buf = append(buf, behind)
	}
	middle := len(buf)
	buf = keystring.Append(buf, high, desc)
	if highIncl {
		buf = append(buf, behind)
	}
	return exec.Range{Lo: buf[start:middle:middle], Hi: buf[middle:len(buf):len(buf)]}, buf
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
	return fields[0][len(fields[0])-1].Hi
}

// minMaxBounds encodes the find options min and max: whole keys, [min, max).
func minMaxBounds(n *indexScan) *exec.Bounds {
	encode := func(key bsonx.Doc) []byte {
		if key == nil {
			return nil
		}
		out := []byte{}
		i := 0
		for it := key.Iter(); it.Next(); i++ {
			out = keystring.Append(out, it.Value(), n.index.fields[i].Desc)
		}
		return out
	}
	return &exec.Bounds{Lower: encode(n.min), Upper: encode(n.max)}
}
