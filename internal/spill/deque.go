package spill

import (
	"bufio"
	"encoding/binary"
	"fmt"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/memory"
	"github.com/sheafdb/sheaf/internal/tempfile"
)

// Deque keeps numbered documents between the first one that is still needed and the last one that
// was read. Those in memory are the newest. Spill moves them to a file, from which they are read
// again in blocks.
//
// A document may be followed by other bytes; the document and these bytes are a record.
//
// A Deque belongs to one goroutine. The zero Deque is empty, and counts its blocks in no budget.
type Deque struct {
	base int // the first document
	docs []bsonx.Doc
	from int // the number of docs[0]
	// bytes is what the documents in memory take.
	bytes int
	chunk []byte // where documents are copied to

	file   tempfile.File
	blocks []dequeBlock // the documents from base to from, in order
	loaded [dequeCache]loadedBlock
	turn   int
	mem    memory.Holding // of the loaded blocks
}

// dequeBlock is a run of documents in the file.
type dequeBlock struct {
	first int // the number of its first document
	at    int64
	size  int
}

type loadedBlock struct {
	first, end int // end is 0 if there is none
	docs       []bsonx.Doc
	size       int
}

const (
	docChunk       = 32 << 10
	dequeBlockSize = 64 << 10
	// dequeCache is how many blocks are in memory: one where the deque is read, some where it is looked ahead.
	dequeCache = 4
	// docOverhead is about what a document costs beside its bytes.
	docOverhead = 32
)

// NewDeque returns an empty deque whose blocks in memory count in the empty holding mem.
func NewDeque(mem memory.Holding) Deque { return Deque{mem: mem} }

// First is the number of the first document, or that of the next one if there is none.
func (d *Deque) First() int { return d.base }

// Bytes returns what the documents in memory take, without those that are read from the file.
func (d *Deque) Bytes() int { return d.bytes }

// End is the number of the document that is pushed next.
func (d *Deque) End() int { return d.from + len(d.docs) }

// Push adds a document, which it keeps.
func (d *Deque) Push(doc bsonx.Doc) {
	d.docs = append(d.docs, doc)
	d.bytes += len(doc) + docOverhead
}

// Copy returns a copy of a document for push.
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

// Release lets go of the first document.
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

// Held returns Bytes with the chunk that documents are copied to next.
func (d *Deque) Held() int64 { return int64(d.bytes + cap(d.chunk)) }

// Reset empties the deque, and makes 0 the number of the next document.
func (d *Deque) Reset() {
	clear(d.docs)
	d.base, d.from, d.bytes = 0, 0, 0
	d.file.Reset()
	d.docs, d.blocks = d.docs[:0], nil
	d.unload()
}

// unload forgets the loaded blocks.
func (d *Deque) unload() {
	d.loaded = [dequeCache]loadedBlock{}
	d.mem.Release()
}

// Spill moves what is in memory to the file in dir.
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

// Doc returns a document from base on. It stays as it is for as long as it is held.
func (d *Deque) Doc(i int) (bsonx.Doc, error) {
	record, err := d.Record(i)
	if err != nil {
		return nil, err
	}
	n := lengthOf(record)
	return record[:n:n], nil
}

// Record is Doc with the bytes that follow the document.
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

// load reads the block that has document i.
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

// reserve counts a block of n bytes that takes the place of the oldest one. Beside a large block no
// other one stays.
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
