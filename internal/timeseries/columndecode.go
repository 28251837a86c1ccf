package timeseries

import (
	"encoding/binary"
	"errors"
	"math"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/storage"
)

// errColumn means that a bucket's bytes are corrupt.
var errColumn = errors.Join(storage.ErrCorrupt, errors.New("time-series bucket: malformed column"))

// column is the values of a field, decoded.
type column struct {
	types []bsonx.Type
	ends  []uint32
	data  []byte
}

// Len returns the number of values, including missing ones.
func (c *column) Len() int { return len(c.types) }

// Bytes returns the approximate memory of the column in bytes.
func (c *column) Bytes() int { return cap(c.types) + 4*cap(c.ends) + cap(c.data) }

// At returns a value. It is borrowed until the next decode into the column.
func (c *column) At(i int) bsonx.Value {
	if i >= len(c.types) {
		return bsonx.Missing
	}
	start := uint32(0)
	if i > 0 {
		start = c.ends[i-1]
	}
	return bsonx.Value{Type: c.types[i], Data: c.data[start:c.ends[i]:c.ends[i]]}
}

// columnDecoder is the state between two blocks.
type columnDecoder struct {
	*column
	prev   bsonx.Value // the last value that is not a delta; it borrows the input
	number int64
	delta  int64
	scale  int
	last   uint64 // last value of the words decoded so far
	limit  int
}

// decode decodes src into the column, at most limit values.
func (c *column) decode(src []byte, limit int) error {
	c.types, c.ends, c.data = c.types[:0], c.ends[:0], c.data[:0]
	d := columnDecoder{column: c, limit: limit, scale: noScale}
	for len(src) > 0 && src[0] != 0 {
		var err error
		if src[0] >= controlPlain && src[0] < 0xE0 {
			src, err = d.block(src)
		} else {
			src, err = d.literal(src)
		}
		if err != nil {
			return err
		}
	}
	if len(src) != 1 {
		return errColumn
	}
	return nil
}

func (d *columnDecoder) literal(src []byte) ([]byte, error) {
	if len(src) < 2 || src[1] != 0 || d.Len() == d.limit {
		return nil, errColumn
	}
	v, rest, ok := bsonx.ReadValue(bsonx.Type(src[0]), src[2:])
	if !ok {
		return nil, errColumn
	}
	d.prev, d.delta, d.scale, d.last = v, 0, noScale, 0
	d.number, _ = integerOf(v)
	d.add(v)
	return rest, nil
}

func (d *columnDecoder) add(v bsonx.Value) {
	d.types = append(d.types, v.Type)
	d.data = append(d.data, v.Data...)
	d.ends = append(d.ends, uint32(len(d.data)))
}

// block decodes the words of a control byte.
func (d *columnDecoder) block(src []byte) ([]byte, error) {
	words := int(src[0]&0x0F) + 1
	if len(src) < 1+8*words {
		return nil, errColumn
	}
	if d.prev.Type == bsonx.TypeDouble {
		if err := d.rescale(int(src[0]>>4) - 9); err != nil {
			return nil, err
		}
	} else if src[0]&0xF0 != controlPlain {
		return nil, errColumn
	}
	for i := range words {
		if err := d.word(binary.LittleEndian.Uint64(src[1+8*i:])); err != nil {
			return nil, err
		}
	}
	return src[1+8*words:], nil
}

// rescale continues from the last double with another scale.
func (d *columnDecoder) rescale(scale int) error {
	if scale == d.scale {
		return nil
	}
	f := d.prev.Double()
	if d.scale != noScale {
		f = unscaled(d.number, d.scale)
	}
	number, ok := scaled(f, scale)
	if !ok {
		return errColumn
	}
	d.number, d.scale = number, scale
	return nil
}

func (d *columnDecoder) word(word uint64) error {
	s := word & 0x0F
	if s == rleSelector {
		n := int(word>>4&0x0F+1) * rleUnit
		if d.Len()+n > d.limit {
			return errColumn
		}
		for range n {
			if err := d.value(d.last); err != nil {
				return err
			}
		}
		return nil
	}
	sel := selectors[s]
	if s == 0 || d.Len()+int(sel.slots) > d.limit {
		return errColumn
	}
	mask := uint64(1)<<sel.bits - 1
	word >>= sel.shift
	for range sel.slots {
		u := word & mask
		if u == mask {
			u = missing
		}
		if err := d.value(u); err != nil {
			return err
		}
		d.last = u
		word >>= sel.bits
	}
	return nil
}

// value adds the value of a delta.
func (d *columnDecoder) value(u uint64) error {
	if u == missing {
		d.types = append(d.types, bsonx.TypeMissing)
		d.ends = append(d.ends, uint32(len(d.data)))
		return nil
	}
	n := unzigzag(u)
	switch t := d.prev.Type; t {
	case bsonx.TypeDouble:
		d.number += n
		d.data = binary.LittleEndian.AppendUint64(d.data, math.Float64bits(unscaled(d.number, d.scale)))
	case bsonx.TypeDate, bsonx.TypeTimestamp:
		d.delta += n
		d.number += d.delta
		d.data = binary.LittleEndian.AppendUint64(d.data, uint64(d.number))
	case bsonx.TypeInt64:
		d.number += n
		d.data = binary.LittleEndian.AppendUint64(d.data, uint64(d.number))
	case bsonx.TypeInt32:
		d.number += n
		d.data = binary.LittleEndian.AppendUint32(d.data, uint32(d.number))
	case bsonx.TypeBool:
		d.number += n
		d.data = append(d.data, byte(d.number&1))
	case bsonx.TypeObjectID:
		d.delta += n
		d.number += d.delta
		d.data = append(d.data, d.prev.Data...)
		setObjectID(d.data[len(d.data)-12:], d.number)
	default:
		if n != 0 || t == bsonx.TypeMissing {
			return errColumn
		}
		d.data = append(d.data, d.prev.Data...)
	}
	d.types = append(d.types, d.prev.Type)
	d.ends = append(d.ends, uint32(len(d.data)))
	return nil
}
