package bsonx

import (
	"encoding/binary"
	"math"
)

// Arena allocates values from larger chunks of memory, so that most values need no allocation of
// their own. The values stay valid until Rewind. An Arena belongs to one goroutine. A nil Arena
// allocates each value separately.
type Arena struct{ chunk []byte }

const (
	firstChunk = 64
	lastChunk  = 4096
	// largestCut is the size from which a value is allocated separately. Larger values in a chunk
	// would waste the rest of it.
	largestCut = lastChunk / 4
)

// Rewind lets the arena reuse the memory of its last chunk. The caller must be sure that no value
// of the arena is still in use.
func (a *Arena) Rewind() { a.chunk = a.chunk[:0] }

// Cut returns n bytes with undefined content.
func (a *Arena) Cut(n int) []byte {
	if a == nil || cap(a.chunk)-len(a.chunk) < n {
		return a.more(n)
	}
	at := len(a.chunk)
	a.chunk = a.chunk[:at+n]
	return a.chunk[at : at+n : at+n]
}

func (a *Arena) more(n int) []byte {
	if a == nil || n > largestCut {
		return make([]byte, n)
	}
	size := min(max(2*cap(a.chunk), firstChunk), lastChunk)
	a.chunk = make([]byte, n, max(size, n))
	return a.chunk[:n:n]
}

// Double returns a double value.
func (a *Arena) Double(f float64) Value {
	b := a.Cut(8)
	binary.LittleEndian.PutUint64(b, math.Float64bits(f))
	return Value{TypeDouble, b}
}

// Int32 returns an int32 value.
func (a *Arena) Int32(i int32) Value {
	b := a.Cut(4)
	binary.LittleEndian.PutUint32(b, uint32(i))
	return Value{TypeInt32, b}
}

// Int64 returns an int64 value.
func (a *Arena) Int64(i int64) Value {
	b := a.Cut(8)
	binary.LittleEndian.PutUint64(b, uint64(i))
	return Value{TypeInt64, b}
}

// Date returns a date value from milliseconds since 1970.
func (a *Arena) Date(millis int64) Value {
	b := a.Cut(8)
	binary.LittleEndian.PutUint64(b, uint64(millis))
	return Value{TypeDate, b}
}

// Text returns a string value of n bytes, and a slice of these bytes for the caller to fill.
func (a *Arena) Text(n int) (Value, []byte) {
	b := a.Cut(n + 5)
	binary.LittleEndian.PutUint32(b, uint32(n+1))
	b[n+4] = 0
	return Value{TypeString, b}, b[4 : n+4]
}
