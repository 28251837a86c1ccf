package extsort

import (
	"bytes"
	"cmp"
	"container/heap"
	"encoding/binary"
	"slices"
)

// entry is an Entry whose key, head and body are in one slice.
type entry struct {
	seq     uint64 // number of the entry in the order of Add
	data    []byte // key, head and body, one after another
	keyLen  int
	headLen int
}

func (e *entry) key() []byte { return e.data[:e.keyLen:e.keyLen] }

// ref is the element that sorting moves. Most comparisons are decided by head. That saves reading
// the entry, which would be a miss of the processor's cache.
type ref struct {
	head  uint64 // first bytes of the key, big endian
	entry *entry
}

func compareRefs(a, b ref) int {
	if a.head != b.head {
		return cmp.Compare(a.head, b.head)
	}
	if c := bytes.Compare(a.entry.key(), b.entry.key()); c != 0 {
		return c
	}
	return cmp.Compare(a.entry.seq, b.entry.seq)
}

// keyHead returns the first eight bytes of a key as a number. Numbers have the same order as the
// bytes.
func keyHead(key []byte) uint64 {
	if len(key) >= headSize {
		return binary.BigEndian.Uint64(key)
	}
	var b [headSize]byte
	copy(b[:], key)
	return binary.BigEndian.Uint64(b[:])
}

const (
	// Small entries are cut from chunks. The first chunk has room for firstChunk entries. Each
	// later chunk is as large as all entries before it, but has at most maxChunk bytes.
	firstChunk = 16
	maxChunk   = 256 << 10
	maxSmall   = maxChunk / 8
	// The structs of entries are allocated in blocks in the same way.
	firstBlock = 32
	maxBlock   = 2048
	// maxSpare is the largest number of bytes by which the memory of a replaced entry may exceed
	// the new entry.
	maxSpare = 64 << 10
	// maxHeadroom is the largest number of extra bytes that are allocated for a replacing entry.
	maxHeadroom = 4 << 10
)

// buffer collects entries in memory. With a limit it is a heap of the first limit entries, whose
// root is the last of them.
type buffer struct {
	limit int
	refs  []ref
	bytes int
	seq   uint64
	pos   int

	touched byte // see fetch

	chunk []byte  // rest of the current chunk
	block []entry // rest of the current block
}

// accepts reports whether an entry with the key would be kept.
func (b *buffer) accepts(key []byte) bool {
	return b.limit == 0 || len(b.refs) < b.limit || b.isBeforeLast(key)
}

// isBeforeLast reports whether a key sorts before the last entry of a full buffer.
func (b *buffer) isBeforeLast(key []byte) bool {
	last := &b.refs[0]
	if head := keyHead(key); head != last.head {
		return head < last.head
	}
	return bytes.Compare(key, last.entry.key()) < 0
}

// add copies an entry that accepts has accepted.
func (b *buffer) add(e *Entry) {
	size := len(e.Key) + len(e.Head) + len(e.Body)
	if b.limit > 0 && len(b.refs) == b.limit {
		b.replaceLast(e, size)
		return
	}
	if len(b.refs) == cap(b.refs) {
		b.refs = slices.Grow(b.refs, b.within(len(b.refs)+64)) // append alone would copy the slice more often
	}
	data := b.alloc(size)
	b.refs = append(b.refs, b.fill(b.newEntry(), e, data))
	b.bytes += cap(data) + EntryBytes
	if b.limit > 0 {
		heap.Fix(b, len(b.refs)-1)
	}
}

// within returns n, or the number of entries that the limit still allows if that is less.
func (b *buffer) within(n int) int {
	if b.limit > 0 {
		return min(n, b.limit-len(b.refs))
	}
	return n
}

// replaceLast replaces the last of the kept entries. It reuses the entry's memory if the new entry
// fits.
func (b *buffer) replaceLast(e *Entry, size int) {
	last := b.refs[0].entry
	data := last.data[:0]
	b.bytes -= cap(data)
	if cap(data) < size || cap(data) > size+maxSpare {
		data = make([]byte, 0, size+min(size/4, maxHeadroom))
	}
	b.bytes += cap(data)
	b.refs[0] = b.fill(last, e, data)
	heap.Fix(b, 0)
}

// fill copies e to data, which becomes the memory of the entry to.
func (b *buffer) fill(to *entry, e *Entry, data []byte) ref {
	data = append(data, e.Key...)
	data = append(data, e.Head...)
	to.data = append(data, e.Body...)
	to.seq, to.keyLen, to.headLen = b.seq, len(e.Key), len(e.Head)
	return ref{keyHead(e.Key), to}
}

// alloc returns an empty slice of capacity n. Without a limit, small slices are cut from a chunk.
func (b *buffer) alloc(n int) []byte {
	if b.limit > 0 || n > maxSmall {
		return make([]byte, 0, n)
	}
	if n > len(b.chunk) {
		b.chunk = make([]byte, min(max(firstChunk*n, b.bytes), maxChunk))
	}
	out := b.chunk[0:0:n]
	b.chunk = b.chunk[n:]
	return out
}

// newEntry returns the struct for a new entry: a struct of the previous run, or one of a block.
func (b *buffer) newEntry() *entry {
	if n := len(b.refs); n < cap(b.refs) {
		if used := b.refs[:n+1][n].entry; used != nil {
			return used
		}
	}
	if len(b.block) == 0 {
		b.block = make([]entry, b.within(min(max(firstBlock, len(b.refs)), maxBlock)))
	}
	e := &b.block[0]
	b.block = b.block[1:]
	return e
}

// next sets e to the next entry of a sorted buffer. It frees the previous entry if that is large;
// small entries share their memory with others.
func (b *buffer) next(e *Entry) bool {
	if b.pos > 0 {
		if last := b.refs[b.pos-1].entry; len(last.data) > maxSmall {
			last.data = nil
		}
	}
	if b.pos == len(b.refs) {
		return false
	}
	if b.pos%lookAhead == 0 {
		b.fetch(b.refs[b.pos:min(b.pos+lookAhead, len(b.refs))])
	}
	from := b.refs[b.pos].entry
	b.pos++
	end := from.keyLen + from.headLen
	e.Key, e.Head, e.Body = from.key(), from.data[from.keyLen:end:end], from.data[end:]
	return true
}

// lookAhead is the number of entries that are loaded into the processor's cache together.
const lookAhead = 16

// fetch loads entries that will be needed soon into the processor's cache. Sorting has scattered
// them in memory, and reading them one after another would wait twice for each.
func (b *buffer) fetch(refs []ref) {
	for _, ref := range refs {
		b.touched += byte(ref.entry.keyLen)
	}
	for _, ref := range refs {
		b.touched += touch(ref.entry.data)
	}
}

// touch reads a byte from each of the first cache lines of an entry, so that they are loaded
// together.
func touch(data []byte) byte {
	switch {
	case len(data) > 192:
		return data[0] + data[64] + data[128] + data[192]
	case len(data) > 64:
		return data[0] + data[64]
	case len(data) > 0:
		return data[0]
	default:
		return 0
	}
}

// reset empties the buffer. It keeps the structs of the entries for reuse. Sequence numbers
// continue.
func (b *buffer) reset() {
	for _, ref := range b.refs {
		ref.entry.data = nil
	}
	b.refs, b.bytes, b.chunk = b.refs[:0], 0, nil
}

// Len implements heap.Interface.
func (b *buffer) Len() int { return len(b.refs) }

// Less implements heap.Interface.
func (b *buffer) Less(i, j int) bool { return compareRefs(b.refs[i], b.refs[j]) > 0 }

// Swap implements heap.Interface.
func (b *buffer) Swap(i, j int) { b.refs[i], b.refs[j] = b.refs[j], b.refs[i] }

// Push implements heap.Interface. It does nothing: add appends an entry and then calls heap.Fix.
func (b *buffer) Push(any) {}

// Pop implements heap.Interface. It is not used.
func (b *buffer) Pop() any { return nil }
