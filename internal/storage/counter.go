package storage

import (
	"encoding/binary"
	"fmt"
)

// CounterSize is the length of an encoded Counter.
const CounterSize = 16

// Counter is a pair of sums that commits change together: the number of a collection's records, and
// their bytes.
type Counter struct {
	Count int64
	Bytes int64
}

// Plus returns the sum of two counters.
func (c Counter) Plus(d Counter) Counter {
	return Counter{Count: c.Count + d.Count, Bytes: c.Bytes + d.Bytes}
}

// Append appends the stored form of c, two little-endian 64-bit integers:
//
//	| count (8) | bytes (8) |
func (c Counter) Append(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, uint64(c.Count))
	return binary.LittleEndian.AppendUint64(dst, uint64(c.Bytes))
}

// DecodeCounter is the inverse of Append. It returns a corruption error if the value has another
// length.
func DecodeCounter(value []byte) (Counter, error) {
	if len(value) != CounterSize {
		return Counter{}, fmt.Errorf("%w: a counter of %d bytes instead of %d", ErrCorrupt, len(value), CounterSize)
	}
	return Counter{
		Count: int64(binary.LittleEndian.Uint64(value)),
		Bytes: int64(binary.LittleEndian.Uint64(value[8:])),
	}, nil
}
