package exec

import (
	"bytes"
	"sort"

	"github.com/sheafdb/sheaf/internal/keystring"
)

// Range is a range [Lo, Hi) of the encoded values of one field of an index. Encoded values delimit themselves and
// begin with neither 0x00 nor 0xFF, so that the encoding of v followed by 0xFF lies behind everything that begins
// with v: an inclusive end is Hi = enc(v) + 0xFF, an exclusive start is Lo = enc(v) + 0xFF.
type Range struct{ Lo, Hi []byte }

// isPoint reports whether the range is one value.
func (r *Range) isPoint() bool {
	end := len(r.Hi) - 1
	return end == len(r.Lo) && r.Hi[end] == 0xFF && bytes.Equal(r.Hi[:end], r.Lo)
}

// Bounds say which entries of an index a scan gives: all whose fields lie in the ranges. They are immutable.
type Bounds struct {
	// Lower and Upper bound the whole scan, [Lower, Upper), without the index prefix; nil ones are open.
	Lower, Upper []byte
	// Fields holds, for each field of the index, sorted and disjoint ranges in the order of the bytes; nil is all
	// values. It is nil where Lower and Upper say everything.
	Fields [][]Range
	// Single says that the bounds are one value of each field: no record has two entries within them.
	Single bool
	// Desc tells which fields are encoded descending; it has an element for each of Fields.
	Desc []bool
}

type verdict int

const (
	inBounds verdict = iota
	seekTo
	outOfBounds
)

// checker decides for one entry after the other whether it is in bounds and where to go if not, so that a scan skips
// what lies between the ranges.
type checker struct {
	bounds *Bounds
	seek   []byte
}

// forward checks the key of an entry. With seekTo, c.seek is the first key that can be in bounds.
func (c *checker) forward(key []byte) (verdict, error) {
	pos, last := 0, true // no greater value of the fields before this one is in bounds
	for i, ranges := range c.bounds.Fields {
		n, err := keystring.Skip(key[pos:], c.bounds.Desc[i])
		if err != nil {
			return 0, err
		}
		if ranges == nil {
			last = false
			pos += n
			continue
		}
		value := key[pos : pos+n]
		j := sort.Search(len(ranges), func(j int) bool { return bytes.Compare(value, ranges[j].Hi) < 0 })
		if j == len(ranges) {
			if last {
				return outOfBounds, nil
			}
			c.seek = append(append(c.seek[:0], key[:pos]...), 0xFF)
			return seekTo, nil
		}
		if bytes.Compare(value, ranges[j].Lo) < 0 {
			c.seek = append(append(c.seek[:0], key[:pos]...), ranges[j].Lo...)
			c.appendStarts(i + 1)
			return seekTo, nil
		}
		last = last && j == len(ranges)-1 && ranges[j].isPoint()
		pos += n
	}
	return inBounds, nil
}

// appendStarts lets a seek that begins a new value of a field also begin at the first range of the fields behind it,
// as far as that is one encoding: an exclusive start is only a bound, nothing can stand behind it.
func (c *checker) appendStarts(field int) {
	if c.seek[len(c.seek)-1] == 0xFF {
		return
	}
	for _, ranges := range c.bounds.Fields[field:] {
		if len(ranges) == 0 {
			return
		}
		c.seek = append(c.seek, ranges[0].Lo...)
		if c.seek[len(c.seek)-1] == 0xFF {
			return
		}
	}
}

// AppendEnd appends a key that follows all keys with fields in the ranges: the value of each field
// whose last range is a point, then the end of the last range of the next field.
func AppendEnd(dst []byte, fields [][]Range) []byte {
	for _, ranges := range fields {
		if len(ranges) == 0 {
			break
		}
		r := &ranges[len(ranges)-1]
		if !r.isPoint() {
			return append(dst, r.Hi...)
		}
		dst = append(dst, r.Lo...)
	}
	return append(dst, 0xFF)
}

// backward checks the key of an entry. With seekTo, every key that can be in bounds is less than c.seek.
func (c *checker) backward(key []byte) (verdict, error) {
	pos, last := 0, true // no lesser value of the fields before this one is in bounds
	for i, ranges := range c.bounds.Fields {
		n, err := keystring.Skip(key[pos:], c.bounds.Desc[i])
		if err != nil {
			return 0, err
		}
		if ranges == nil {
			last = false
			pos += n
			continue
		}
		value := key[pos : pos+n]
		j := sort.Search(len(ranges), func(j int) bool { return bytes.Compare(value, ranges[j].Lo) < 0 }) - 1
		if j < 0 {
			if last {
				return outOfBounds, nil
			}
			c.seek = append(c.seek[:0], key[:pos]...)
			return seekTo, nil
		}
		if bytes.Compare(value, ranges[j].Hi) >= 0 {
			c.seek = append(append(c.seek[:0], key[:pos]...), ranges[j].Hi...)
			if ranges[j].isPoint() {
				c.seek = AppendEnd(c.seek[:len(c.seek)-1], c.bounds.Fields[i+1:])
			}
			return seekTo, nil
		}
		last = last && j == 0 && ranges[0].isPoint()
		pos += n
	}
	return inBounds, nil
}
