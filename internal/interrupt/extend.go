package interrupt

import (
	"strings"
	"unsafe"
)

const (
	// piece is the number of bytes that Extend copies between two checks of the operation.
	piece = 1 << 20
	// LargeBuffer is the length from which a buffer grows with Extend. Shorter ones grow with
	// append.
	LargeBuffer = 8 << 20
	// entry is the extra room that Extend leaves for the bytes around a value: its type, its key,
	// and the ends of the enclosing documents.
	entry = 64 << 10
)

// Extend makes room for a value of n bytes in a buffer of at least LargeBuffer bytes. It fails if
// the operation ends. append would touch every page of the new memory without a check. The first
// touch of a page can take the kernel 20 µs, which is 600 ms for 125 MB.
func Extend(buf []byte, n int, r *Running) ([]byte, error) {
	n += entry
	if len(buf) < LargeBuffer || cap(buf)-len(buf) >= n {
		return buf, nil
	}
	larger := uncleared(len(buf) + max(n, len(buf)/2))
	for len(buf) > 0 {
		if err := r.Err(); err != nil {
			return nil, err
		}
		part := buf[:min(piece, len(buf))]
		larger = append(larger, part...)
		buf = buf[len(part):]
	}
	return larger, nil
}

// uncleared returns an empty slice with memory that is not cleared, which make would do. The memory
// comes from a strings.Builder that is not used otherwise.
func uncleared(size int) []byte {
	var b strings.Builder
	b.Grow(size)
	b.WriteByte(0) // the address of an empty string is undefined
	return unsafe.Slice(unsafe.StringData(b.String()), b.Cap())[:0]
}
