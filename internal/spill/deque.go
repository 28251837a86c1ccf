package spill

import (
	"bufio"
	"encoding/binary"
	"fmt"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/memory"
	"github.com/sheafdb/sheaf/internal/tempfile"
)

// Deque holds a window of numbered documents: from the first one that is still needed to the last
// one that was added. The newest documents are in memory. Spill moves them to a file, from which
// they are read again in blocks.
//
// A document may be followed by other bytes. The document and these bytes form a record.
//
// Only one goroutine may use a Deque. A zero Deque is empty, and does not account for the memory of
// its blocks.
type Deque struct {
	base int // number of the first document
	docs []bsonx.Doc
	from int // number of docs[0]
	// bytes estimates the memory of the documents in memory.
	bytes int
	chunk []byte // buffer for copies of documents

	file   tempfile.File
	blocks []dequeBlock // blocks of the documents from base to from, in order
	loaded [dequeCache]loadedBlock
	turn   int
	mem    memory.Holding // memory of the loaded blocks
}

// dequeBlock describes a block of consecutive documents in the file.
type dequeBlock struct {
	first int // number of its first document
	at    int64
	size  int
}

type loadedBlock struct {
	first, end int // end is 0 if no block is loaded
	docs       []bsonx.Doc
	size       int
}

const (
	docChunk       = 32 << 10
	dequeBlockSize = 64 << 10
	// dequeCache is the number of blocks in memory: one at the position of the reader, and some for
	// looking ahead.
	dequeCache = 4
	// docOverhead estimates the memory of a document without its own bytes, in bytes.
	docOverhead = 32
)

// NewDeque returns an empty deque. mem is an empty holding that accounts for the blocks in memory.
func NewDeque(mem memory.Holding) Deque { return Deque{mem: mem} }

// First returns the number of the first document, or of the next document if the deque is empty.
func (d *Deque) First() int { return d.base }

// Bytes estimates the memory of the documents that were not spilled, in bytes.
func (d *Deque) Bytes() int { return d.bytes }

// End returns the number of the next document that Push will add.
func (d *Deque) End() int { return d.from + len(d.docs) }

// Push adds a document. The deque takes ownership of it.
func (d *Deque) Push(doc bsonx.Doc) {
	d.docs = append(d.docs, doc)
	d.bytes += len(doc) + docOverhead
}

// Copy returns a copy of a document for Push.
func (d *Deque) Copy(doc bsonx.Doc) bsonx.Doc {
	if len(doc) >= docChunk {
		return doc.Clone()
	}
	if cap(d.chunk)-len(d.chunk) < len(doc) {
		d.chunk = make([]byte, 0, docChunk)
	}
	at := len(d.chunk)
	d.chunk = append(d.chunk, doc...)
	return d.chunk[at:len(d.chunk):len(d.chunk)]
}

// Release removes the first document.
func (d *Deque) Release() {
	d.base++
	for len(d.blocks) > 0 && d.blockEnd(0) <= d.base {
		d.blocks = d.blocks[1:]
	}
	if d.base <= d.from {
		return
	}
	d.bytes -= len(d.docs[0]) + docOverhead
	d.docs[0] = nil
	if len(d.docs) == 1 {
		d.docs = d.docs[:0]
	} else {
		d.docs = d.docs[1:]
	}
	d.from++
}

func (d *Deque) blockEnd(i int) int {
	if i+1 < len(d.blocks) {
		return d.blocks[i+1].first
	}
	return d.from
}

// Held returns Bytes plus the size of the buffer for copies.
func (d *Deque) Held() int64 { return int64(d.bytes + cap(d.chunk)) }

// Reset empties the deque. The next document gets the number 0.
func (d *Deque) Reset() {
	clear(d.docs)
	d.base, d.from, d.bytes = 0, 0, 0
	d.file.Reset()
	d.docs, d.blocks = d.docs[:0], nil
	d.unload()
}

// unload drops the loaded blocks.
func (d *Deque) unload() {
	d.loaded = [dequeCache]loadedBlock{}
	d.mem.Release()
}

// Spill moves the documents in memory to the file, which is created in dir if necessary.
func (d *Deque) Spill(dir string) error {
	if len(d.docs) == 0 {
		return nil
	}
	if err := d.file.Create(dir); err != nil {
		return err
	}
	out := bufio.NewWriterSize(&d.file, dequeBlockSize)
	var head []byte
	at, size, first := d.file.Size(), 0, d.from
	for i, doc := range d.docs {
		head = binary.AppendUvarint(head[:0], uint64(len(doc)-lengthOf(doc)))
		_, _ = out.Write(head) // Flush reports the first error
		_, _ = out.Write(doc)
		if size += len(head) + len(doc); size < dequeBlockSize && i+1 < len(d.docs) {
			continue
		}
		d.blocks = append(d.blocks, dequeBlock{first, at, size})
		at, size, first = at+int64(size), 0, d.from+i+1
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("writing spilled documents: %w", err)
	}
	d.from += len(d.docs)
	clear(d.docs)
	d.docs, d.chunk, d.bytes = d.docs[:0], nil, 0
	return nil
}

// lengthOf returns the length of the document at the beginning of a record.
func lengthOf(record []byte) int { return int(binary.LittleEndian.Uint32(record)) }

// Doc returns document i, which must not be before First. The bytes are never changed, so the
// caller may keep them.
func (d *Deque) Doc(i int) (bsonx.Doc, error) {
	record, err := d.Record(i)
	if err != nil {
		return nil, err
	}
	n := lengthOf(record)
	return record[:n:n], nil
}

// Record is like Doc, but includes the bytes after the document.
func (d *Deque) Record(i int) (bsonx.Doc, error) {
	if i >= d.from {
		return d.docs[i-d.from], nil
	}
	for j := range d.loaded {
		if l := &d.loaded[j]; l.first <= i && i < l.end {
			return l.docs[i-l.first], nil
		}
	}
	return d.load(i)
}

// load reads the block that contains document i, and returns its record.
func (d *Deque) load(i int) (bsonx.Doc, error) {
	low, high := 0, len(d.blocks)
	for high-low > 1 {
		if mid := (low + high) / 2; d.blocks[mid].first <= i {
			low = mid
		} else {
			high = mid
		}
	}
	b := d.blocks[low]
	if err := d.reserve(b.size); err != nil {
		return nil, err
	}
	data := make([]byte, b.size)
	if _, err := d.file.ReadAt(data, b.at); err != nil {
		return nil, fmt.Errorf("reading spilled documents: %w", err)
	}
	l := &d.loaded[d.turn]
	d.turn = (d.turn + 1) % dequeCache
	*l = loadedBlock{first: b.first, end: d.blockEnd(low), size: b.size}
	for len(data) > 0 {
		behind, size := binary.Uvarint(data)
		data = data[size:]
		n := lengthOf(data) + int(behind)
		l.docs = append(l.docs, data[:n:n])
		data = data[n:]
	}
	return l.docs[i-l.first], nil
}

// reserve accounts for a block of n bytes that replaces the oldest loaded block. If the block is
// large, it drops all other blocks.
func (d *Deque) reserve(n int) error {
	total := n
	for i := range d.loaded {
		if i != d.turn {
			total += d.loaded[i].size
		}
	}
	if total > dequeCache*2*dequeBlockSize {
		d.unload()
		total = n
	}
	return d.mem.Hold(int64(total))
}

// Close removes the file.
func (d *Deque) Close() {
	d.file.Close()
	d.unload()
}
