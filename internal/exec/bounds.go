package exec

import (
	"bytes"
	"sort"

	"github.com/sheafdb/sheaf/internal/keystring"
)

// Range is a range [Lo, Hi) of the encoded values of one index field. An encoded value delimits
// itself and begins with neither 0x00 nor 0xFF. Therefore enc(v) + 0xFF sorts after every key that
// begins with enc(v). An inclusive end is Hi = enc(v) + 0xFF. An exclusive start is Lo = enc(v) +
// 0xFF.
type Range struct{ Lo, Hi []byte }

// isPoint reports whether the range contains exactly one value.
func (r *Range) isPoint() bool {
	end := len(r.Hi) - 1
	return end == len(r.Lo) && r.Hi[end] == 0xFF && bytes.Equal(r.Hi[:end], r.Lo)
}

// Bounds select the index entries of a scan: an entry is in bounds if each of its fields lies in
// one of the field's ranges. Bounds are immutable.
type Bounds struct {
	// Lower and Upper bound the whole scan, [Lower, Upper), without the index prefix. A nil bound
	// is open.
	Lower, Upper []byte
	// Fields holds the sorted, disjoint ranges of each index field, in byte order. A nil element
	// allows every value of its field. Fields is nil if Lower and Upper alone describe the bounds.
	Fields [][]Range
	// Single reports that the bounds allow one value for each field. Then no record has two entries
	// within the bounds.
	Single bool
	// Desc tells which fields are encoded in descending order. It has one element for each element
	// of Fields.
	Desc []bool
}

type verdict int

const (
	inBounds verdict = iota
	seekTo
	outOfBounds
)

// checker decides for each entry whether it is in bounds. If it is not, checker computes the key to
// seek to, so that a scan skips the gaps between the ranges.
type checker struct {
	bounds *Bounds
	seek   []byte
}

// forward checks the key of an entry in a forward scan. If it returns seekTo, c.seek is the first
// key that can be in bounds.
func (c *checker) forward(key []byte) (verdict, error) {
	pos, last := 0, true // no greater value of the earlier fields is in bounds
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

// appendStarts extends a seek key, which ends at a new value of a field, with the first range start
// of each later field. It stops at a field without ranges, and after an exclusive start: nothing
// can follow the trailing 0xFF.
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

// AppendEnd appends a key that sorts after all keys whose fields lie in the ranges. The key
// consists of the leading fields whose last range is a point, and the end of the next field's last
// range.
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

// backward checks the key of an entry in a backward scan. If it returns seekTo, every key that can
// be in bounds is less than c.seek.
func (c *checker) backward(key []byte) (verdict, error) {
	pos, last := 0, true // no lesser value of the earlier fields is in bounds
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
