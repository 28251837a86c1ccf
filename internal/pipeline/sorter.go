package pipeline

import (
	"bytes"
	"cmp"
	"container/heap"
	"context"
	"encoding/binary"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/index"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/memory"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/spill"
)

// sorter collects documents with keys and yields them in the byte order of the keys; equal ones stay in the order in
// which they came. With a limit it keeps the first documents only. What exceeds the memory limit goes to a spill.
type sorter struct {
	limit   int // how many documents it yields; 0 means all
	memory  int
	held    memory.Holding
	spill   *spill.Runs
	entries []sorterEntry
	chunk   []byte // rest of the current piece of memory
	bytes   int
	seq     uint64
	out     int    // how many documents have been yielded
	last    []byte // the key of the document that was yielded last, where that was in memory
	merged  *spill.Merge
	running interrupt.Running // the operation, which a long sort looks at
	meter   interrupt.Meter
}

// sorterEntry is a key and a document in one piece of memory. Most comparisons end at head, the first bytes of the key.
type sorterEntry struct {
	head   uint64
	seq    uint64
	data   []byte
	keyLen int
}

const (
	sorterEntryBytes = 64
	sorterChunkBytes = 256 << 10
	// A limit beyond what memory can hold is no help: such a sort keeps, and spills, all.
	maxSorterLimit = 1 << 24
)

func newSorter(env *Env, limit int64) *sorter {
	s := &sorter{memory: env.memoryLimit(), held: env.hold(), spill: env.newSpill()}
	if limit > 0 && limit < maxSorterLimit {
		s.limit = int(limit)
	}
	return s
}

func (e *sorterEntry) key() []byte { return e.data[:e.keyLen] }

func compareSorterEntries(a, b sorterEntry) int {
	if a.head != b.head {
		return cmp.Compare(a.head, b.head)
	}
	if c := bytes.Compare(a.key(), b.key()); c != 0 {
		return c
	}
	return cmp.Compare(a.seq, b.seq)
}

// add copies a key and a document.
func (s *sorter) add(key []byte, doc bsonx.Doc) error {
	s.seq++
	n := len(key) + len(doc)
	if s.limit > 0 && len(s.entries) == s.limit {
		if bytes.Compare(key, s.entries[0].key()) >= 0 {
			return nil
		}
		s.replaceLast(key, doc)
	} else {
		data := s.alloc(n)
		s.entries = append(s.entries, s.entry(data, key, doc))
		if s.limit > 0 {
			heap.Fix(s, len(s.entries)-1)
		}
		s.bytes += cap(data) + sorterEntryBytes
	}
	if s.bytes <= s.memory {
		if ok, err := fits(&s.held, s.bytes, s.spill != nil); ok || err != nil {
			return err
		}
	}
	return s.flush()
}

// largeDocument is the size from which on the memory for a document's key and copy is held before
// they are made.
const largeDocument = 256 << 10

// reserve holds n bytes, which it takes to add a large document. Entries that can go to the disk
// leave half of the server's memory to what has to find room when they come back: what does not fit
// into the other half is held after they went there.
func (s *sorter) reserve(n int) error {
	s.held.Shrink(int64(s.bytes))
	if s.spill == nil {
		return s.held.Hold(int64(s.bytes + n))
	}
	if s.held.Spare(int64(s.bytes + n)) {
		return nil
	}
	if err := s.flush(); err != nil {
		return err
	}
	return s.held.Hold(int64(n))
}

// replaceLast puts a document in the place of the one that is last of those kept, and into its memory where it fits.
func (s *sorter) replaceLast(key []byte, doc bsonx.Doc) {
	old := s.entries[0].data
	n := len(key) + len(doc)
	data := old[:0]
	if cap(old) < n {
		data = make([]byte, 0, n+min(n/4, maxIdleBuffer))
	}
	s.bytes += cap(data) - cap(old)
	s.entries[0] = s.entry(data, key, doc)
	heap.Fix(s, 0)
}

func (s *sorter) entry(data, key []byte, doc bsonx.Doc) sorterEntry {
	var head [8]byte
	copy(head[:], key)
	data = append(append(data, key...), doc...)
	return sorterEntry{binary.BigEndian.Uint64(head[:]), s.seq, data, len(key)}
}

// alloc returns an empty slice of capacity n. Without a limit, small ones are cut from larger pieces.
func (s *sorter) alloc(n int) []byte {
	if s.limit > 0 || n > sorterChunkBytes/8 {
		return make([]byte, 0, n)
	}
	if len(s.chunk) < n {
		s.chunk = make([]byte, min(sorterChunkBytes, max(4*n, s.bytes)))
	}
	piece := s.chunk[:0:n]
	s.chunk = s.chunk[n:]
	return piece
}

// flush writes the documents in memory as one run.
func (s *sorter) flush() error {
	if s.spill == nil {
		return mongoerr.New(mongoerr.QueryExceededMemoryLimitNoDiskUseAllowed,
			"Sort exceeded memory limit of %d bytes, but did not opt in to external sorting.", s.memory)
	}
	if err := s.sort(); err != nil {
		return err
	}
	for i := range s.entries {
		e := &s.entries[i]
		s.spill.Add(e.key(), e.data[e.keyLen:])
		if err := s.meter.Did(interrupt.Document+len(e.data), &s.running); err != nil {
			return err
		}
	}
	clear(s.entries)
	s.entries, s.chunk, s.bytes = s.entries[:0], nil, 0
	s.held.Release()
	return s.spill.EndRun()
}

func (s *sorter) sort() error {
	return interrupt.SortUnstable(s.entries, interrupt.Step/2, compareSorterEntries, &s.meter, &s.running)
}

// finish ends the collecting.
func (s *sorter) finish() error {
	s.held.Shrink(int64(s.bytes))
	if !s.spill.Used() {
		return s.sort()
	}
	err := s.flush()
	if err != nil {
		return err
	}
	s.merged, err = s.spill.Merge()
	return err
}

// next returns the next document, which is valid until the following call; nil at the end.
func (s *sorter) next() (bsonx.Doc, error) {
	if s.limit > 0 && s.out == s.limit {
		return nil, nil
	}
	s.out++
	if s.merged != nil {
		if !s.merged.Next() {
			return nil, s.merged.Err()
		}
		return s.merged.Payload(), nil
	}
	if len(s.entries) == 0 {
		return nil, nil
	}
	e := s.entries[0]
	s.entries[0] = sorterEntry{}
	s.entries = s.entries[1:]
	s.last = e.key()
	return e.data[e.keyLen:], nil
}

// key returns the key of the document that next returned last. It is valid as long as that.
func (s *sorter) key() []byte {
	if s.merged != nil {
		return s.merged.Key()
	}
	return s.last
}

func (s *sorter) close() {
	s.spill.Close()
	s.entries, s.chunk, s.last = nil, nil, nil
	s.held.Release()
}

// Len implements heap.Interface: with a limit the entries are a heap whose first is the last in order.
func (s *sorter) Len() int { return len(s.entries) }

// Less implements heap.Interface.
func (s *sorter) Less(i, j int) bool { return compareSorterEntries(s.entries[i], s.entries[j]) > 0 }

// Swap implements heap.Interface.
func (s *sorter) Swap(i, j int) { s.entries[i], s.entries[j] = s.entries[j], s.entries[i] }

// Push implements heap.Interface; entries are appended before the heap is mended.
func (s *sorter) Push(any) {}

// Pop implements heap.Interface.
func (s *sorter) Pop() any { return nil }

// sortingSource is a source that reads all of its input into a sorter first.
type sortingSource struct {
	input
	env   *Env
	limit int64
	key   func(dst []byte, doc bsonx.Doc) ([]byte, error)
	// pattern is what key is made of; nil for keys that are small.
	pattern index.Pattern
	noted   *index.MetaSortGen // makes the sort keys that are metadata; nil where no stage reads them
	sorter  *sorter
	kept    keptMeta
}

// Kept implements memory.Keeper.
func (s *sortingSource) Kept() int64 {
	kept := s.input.Kept()
	if s.sorter != nil {
		kept += s.sorter.uncounted()
	}
	return kept
}

// uncounted returns what the entries take that is not counted.
func (s *sorter) uncounted() int64 { return s.held.Beyond(int64(s.bytes)) }

// Next implements Source.
func (s *sortingSource) Next(ctx context.Context) (bsonx.Doc, error) {
	if s.sorter == nil {
		s.sorter = newSorter(s.env, s.limit)
		s.sorter.running.Set(ctx)
		if s.env != nil && s.env.Sorts != nil {
			s.env.Sorts(ctx)
		}
		if err := s.load(ctx); err != nil {
			return nil, err
		}
	}
	out, err := s.sorter.next()
	if err != nil || out == nil {
		return nil, err
	}
	return s.kept.split(out), nil
}

// Meta implements MetaSource.
func (s *sortingSource) Meta() *expr.Meta {
	return s.kept.Meta()
}

// meta returns the metadata of a document of the input, with the key of this sort instead of an earlier one if it is noted.
func (s *sortingSource) meta(doc bsonx.Doc) (*expr.Meta, error) {
	m := metaOf(s.src)
	if s.noted == nil {
		return m, nil
	}
	values, err := s.noted.Values(doc, sortMetaOf(m))
	if err != nil {
		return nil, err
	}
	out := expr.Meta{}
	if m != nil {
		out = *m
	}
	out.SortKey = bsonx.ValueOf(values)
	return &out, nil
}

func (s *sortingSource) load(ctx context.Context) error {
	var key []byte
	err := Drain(ctx, s.src, func(doc bsonx.Doc) error {
		if len(doc) >= largeDocument {
			room := s.pattern.KeyRoom(doc)
			if s.noted != nil {
				room *= 2
			}
			if err := s.sorter.reserve(len(doc) + room); err != nil {
				return err
			}
		}
		var err error
		if key, err = s.key(idle(key)[:0], doc); err != nil {
			return err
		}
		meta, err := s.meta(doc)
		if err != nil {
			return err
		}
		return s.sorter.add(key, s.kept.joinMeta(doc, meta))
	})
	if err != nil {
		return err
	}
	return s.sorter.finish()
}

// Close implements Source.
func (s *sortingSource) Close() {
	if s.sorter != nil {
		s.sorter.close()
	}
	s.input.Close()
}
