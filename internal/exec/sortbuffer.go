package exec

import (
	"bytes"
	"cmp"
	"container/heap"
	"encoding/binary"
	"math"
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/spill"
)

// sortEntry is a row that waits in a sort: the sort key, the record key and the document in one piece of memory.
type sortEntry struct {
	seq    uint64 // order of arrival
	data   []byte
	keyLen int
	recLen int
}

func (e *sortEntry) key() []byte { return e.data[:e.keyLen:e.keyLen] }
func (e *sortEntry) recordKey() []byte {
	return e.data[e.keyLen : e.keyLen+e.recLen : e.keyLen+e.recLen]
}
func (e *sortEntry) doc() []byte { return e.data[e.keyLen+e.recLen:] }

// sortRef is an entry as it is moved by sorting. Most comparisons end at head, which needs no look at the entry: that
// would be a miss of the processor's cache.
type sortRef struct {
	head  uint64 // the key's first bytes, big endian
	entry *sortEntry
}

func compareEntries(a, b sortRef) int {
	if a.head != b.head {
		return cmp.Compare(a.head, b.head)
	}
	if c := bytes.Compare(a.entry.key(), b.entry.key()); c != 0 {
		return c
	}
	return cmp.Compare(a.entry.seq, b.entry.seq)
}

// keyHead returns the first eight bytes of a key as a number in the same order.
func keyHead(key []byte) uint64 {
	if len(key) >= 8 {
		return binary.BigEndian.Uint64(key)
	}
	var b [8]byte
	copy(b[:], key)
	return binary.BigEndian.Uint64(b[:])
}

// entryOverhead is what an entry takes beside its data.
const entryOverhead = 64

// maxSpare is how much larger than an entry the memory may be in which it replaces another one.
const maxSpare = 64 << 10

// chunkSize is the piece in which memory for entries is allocated.
const chunkSize = 256 << 10

// sortBuffer collects entries in memory. With a limit it is a heap whose root is the last of the first limit rows.
type sortBuffer struct {
	limit  int
	scored bool // the score of a row is kept behind its record key
	// located says that the distance of a row and its place are kept there too.
	located bool
	shape   Projector // what is kept of a row's document; nil for all of it
	// indexKeys reads the index key of a row. The key is kept before the document; nil keeps no
	// keys.
	indexKeys *EntryFields
	entries   []sortRef
	bytes     int
	seq       uint64
	pos       int

	touched byte // see touch

	scratch []byte      // the key of the row being added
	shaped  []byte      // its document, where there is a shape
	chunk   []byte      // rest of the current piece of memory
	structs []sortEntry // rest of the current piece of entries
}

// add copies a row into the buffer, or drops it where it comes after the limit.
func (b *sortBuffer) add(row *Row, key KeyFunc) error {
	k, err := key(b.scratch[:0], row)
	if err != nil {
		return err
	}
	b.scratch = k
	b.seq++
	if b.limit == 0 {
		doc, err := b.document(row)
		if err != nil {
			return err
		}
		e := b.newEntry()
		if len(b.entries) == cap(b.entries) {
			b.entries = slices.Grow(b.entries, len(b.entries)+64) // append alone would copy them more often
		}
		b.entries = append(b.entries, b.fill(e, row, doc, b.alloc(len(k)+len(row.RecordKey)+len(doc)+b.metaLen(row))))
		return nil
	}
	full := len(b.entries) == b.limit
	if full && bytes.Compare(k, b.entries[0].entry.key()) >= 0 {
		return nil
	}
	doc, err := b.document(row)
	if err != nil {
		return err
	}
	size := len(k) + len(row.RecordKey) + len(doc) + b.metaLen(row)
	if !full {
		heap.Push((*entryHeap)(b), b.fill(&sortEntry{}, row, doc, make([]byte, 0, size)))
		return nil
	}
	last := b.entries[0].entry
	b.bytes -= cap(last.data) + entryOverhead
	data := last.data[:0]
	if cap(data) < size || cap(data) > size+maxSpare {
		data = make([]byte, 0, size)
	}
	b.entries[0] = b.fill(last, row, doc, data)
	heap.Fix((*entryHeap)(b), 0)
	return nil
}

// document returns what is kept of the row's document.
func (b *sortBuffer) document(row *Row) (doc []byte, err error) {
	b.shaped = b.shaped[:0]
	if b.indexKeys != nil {
		if b.shaped, err = b.indexKeys.appendKey(b.shaped, row); err != nil {
			return nil, err
		}
	}
	switch {
	case b.shape != nil:
		b.shaped, err = b.shape(b.shaped, row)
		return b.shaped, err
	case b.indexKeys != nil:
		b.shaped = append(b.shaped, row.Doc...)
		return b.shaped, nil
	}
	return row.Doc, nil
}

// noIndexKey stands for the index key of a row that has none.
var noIndexKey = [4]byte{}

// appendKey appends the index key of a row, as a document.
func (e *EntryFields) appendKey(dst []byte, row *Row) ([]byte, error) {
	if row.Key == nil {
		return append(dst, noIndexKey[:]...), nil
	}
	return e.Document(dst, row)
}

// splitIndexKey undoes appendKey.
func splitIndexKey(b []byte) (key, rest bsonx.Doc) {
	n := binary.LittleEndian.Uint32(b)
	if n == 0 {
		return nil, b[len(noIndexKey):]
	}
	return b[:n:n], b[n:]
}

func (b *sortBuffer) fill(e *sortEntry, row *Row, doc, data []byte) sortRef {
	data = append(data, b.scratch...)
	data = append(data, row.RecordKey...)
	if b.scored {
		data = appendScore(data, row)
	}
	if b.located {
		data = appendPlace(data, row)
	}
	e.keyLen, e.recLen = len(b.scratch), len(data)-len(b.scratch)
	data = append(data, doc...)
	e.seq, e.data = b.seq, data
	b.bytes += cap(data) + entryOverhead
	return sortRef{keyHead(b.scratch), e}
}

// scoreSize is how many bytes appendScore appends.
const scoreSize = 9

// placeSize is how many bytes appendPlace appends behind the place itself.
const placeSize = 14

// metaLen returns how many bytes are kept of a row beside its keys and its document.
func (b *sortBuffer) metaLen(row *Row) int {
	n := 0
	if b.scored {
		n = scoreSize
	}
	if b.located {
		n += len(row.Place.Data) + placeSize
	}
	return n
}

// appendPlace appends what a search by distance found out about a row:
//
//	place | its type | its length (4 bytes) | distance (8 bytes) | whether it was found by distance
func appendPlace(dst []byte, row *Row) []byte {
	has := byte(0)
	if row.Located {
		has = 1
	}
	dst = append(append(dst, row.Place.Data...), byte(row.Place.Type))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(row.Place.Data))) //nolint:gosec // a document's size
	return append(binary.LittleEndian.AppendUint64(dst, math.Float64bits(row.Distance)), has)
}

// splitPlace undoes appendPlace.
func splitPlace(row *Row, b []byte) (rest []byte) {
	rest, tail := b[:len(b)-placeSize], b[len(b)-placeSize:]
	n := len(rest) - int(binary.LittleEndian.Uint32(tail[1:]))
	row.Place = bsonx.Value{Type: bsonx.Type(tail[0]), Data: rest[n:]}
	row.Distance = math.Float64frombits(binary.LittleEndian.Uint64(tail[5:]))
	row.Located = tail[placeSize-1] == 1
	return rest[:n:n]
}

// appendScore appends the score of a row, and whether it has one.
func appendScore(dst []byte, row *Row) []byte {
	has := byte(0)
	if row.Scored {
		has = 1
	}
	return append(binary.LittleEndian.AppendUint64(dst, math.Float64bits(row.Score)), has)
}

// splitScore undoes appendScore.
func splitScore(b []byte) (rest []byte, score float64, has bool) {
	rest, tail := b[:len(b)-scoreSize], b[len(b)-scoreSize:]
	return rest, math.Float64frombits(binary.LittleEndian.Uint64(tail)), tail[scoreSize-1] == 1
}

func (b *sortBuffer) alloc(n int) []byte {
	if n > chunkSize/4 {
		return make([]byte, 0, n)
	}
	if n > len(b.chunk) {
		b.chunk = make([]byte, chunkSize)
	}
	out := b.chunk[0:0:n]
	b.chunk = b.chunk[n:]
	return out
}

func (b *sortBuffer) newEntry() *sortEntry {
	if len(b.structs) == 0 {
		b.structs = make([]sortEntry, 256)
	}
	e := &b.structs[0]
	b.structs = b.structs[1:]
	return e
}

func (b *sortBuffer) sort() { sortRefs(b.entries) }

// next implements sortSource on a sorted buffer.
func (b *sortBuffer) next(row *Row) (bool, error) {
	if b.pos == len(b.entries) {
		return false, nil
	}
	if b.pos%lookAhead == 0 {
		b.fetch(b.entries[b.pos:min(b.pos+lookAhead, len(b.entries))])
	}
	e := b.entries[b.pos].entry
	b.pos++
	row.SortKey, row.RecordKey, row.Doc = e.key(), e.recordKey(), e.doc()
	return true, nil
}

// mergedRuns implements sortSource on runs of writeEntry.
type mergedRuns struct{ *spill.Merge }

func (m mergedRuns) next(row *Row) (bool, error) {
	if !m.Next() {
		return false, m.Err()
	}
	payload := m.Payload()
	recLen, n := binary.Uvarint(payload)
	end := n + int(recLen) //nolint:gosec // a length that writeEntry wrote
	row.SortKey, row.RecordKey, row.Doc = m.Key(), payload[n:end:end], payload[end:]
	return true, nil
}

// writeEntry adds an entry to a run. The payload is
//
//	record key length (uvarint) | record key | document
func writeEntry(runs *spill.Runs, e *sortEntry) {
	var head [binary.MaxVarintLen64]byte
	runs.Add(e.key(), binary.AppendUvarint(head[:0], uint64(e.recLen)), e.data[e.keyLen:]) //nolint:gosec // a length
}

// lookAhead is how many entries are brought into the processor's cache at once.
const lookAhead = 16

// fetch looks at entries that will be needed soon. Sorting has left them anywhere in memory: one after the other each would be
// waited for twice.
func (b *sortBuffer) fetch(refs []sortRef) {
	for _, ref := range refs {
		b.touched += byte(ref.entry.keyLen)
	}
	for _, ref := range refs {
		b.touched += touch(ref.entry.data)
	}
}

// dropScratch frees what adding a large row has left.
func (b *sortBuffer) dropScratch() {
	if cap(b.scratch) > maxSpare {
		b.scratch = nil
	}
	if cap(b.shaped) > maxSpare {
		b.shaped = nil
	}
}

// reset empties the buffer; the order of arrival goes on.
func (b *sortBuffer) reset() {
	clear(b.entries)
	b.entries, b.bytes = b.entries[:0], 0
	b.chunk, b.structs = nil, nil
}

// entryHeap is a sortBuffer with a limit as a heap with the last entry on top.
type entryHeap sortBuffer

func (h *entryHeap) Len() int           { return len(h.entries) }
func (h *entryHeap) Less(i, j int) bool { return compareEntries(h.entries[i], h.entries[j]) > 0 }
func (h *entryHeap) Swap(i, j int)      { h.entries[i], h.entries[j] = h.entries[j], h.entries[i] }
func (h *entryHeap) Push(x any)         { h.entries = append(h.entries, x.(sortRef)) }
func (h *entryHeap) Pop() any {
	last := h.entries[len(h.entries)-1]
	h.entries = h.entries[:len(h.entries)-1]
	return last
}
