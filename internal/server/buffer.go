package server

import (
	"math/bits"
	"sync"
)

// Buffers have sizes of powers of two between these limits. Larger buffers are not kept.
const (
	minBufferBits = 12 // 4 KiB
	maxBufferBits = 24 // 16 MiB
)

// bufferPool keeps buffers for replies, and for messages that are larger than a connection's own
// buffer.
type bufferPool struct {
	classes [maxBufferBits - minBufferBits + 1]sync.Pool
}

// get returns an empty buffer for n bytes.
func (p *bufferPool) get(n int) *[]byte {
	class := max(bits.Len(uint(max(n, 1)-1)), minBufferBits) - minBufferBits
	if class >= len(p.classes) {
		b := make([]byte, 0, n)
		return &b
	}
	if b, ok := p.classes[class].Get().(*[]byte); ok {
		return b
	}
	b := make([]byte, 0, 1<<(class+minBufferBits))
	return &b
}

// put returns a buffer, which may have grown since get.
func (p *bufferPool) put(b *[]byte) {
	class := bits.Len(uint(cap(*b))) - 1 - minBufferBits
	if class < 0 || class >= len(p.classes) {
		return
	}
	*b = (*b)[:0]
	p.classes[class].Put(b)
}
