package exec

import (
	"bufio"
	"container/heap"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/sheafdb/sheaf/internal/tempfile"
)

// spillBuffer is the memory with which a run is written, and each run read.
const spillBuffer = 64 << 10

// spill is a temporary file of sorted runs. An entry is
//
//	key length | record key length | document length | seq (each a uvarint) | key | record key | document
type spill struct {
	file tempfile.File
	size int64
	runs []run
}

type run struct{ start, end int64 }

func newSpill(dir string) (*spill, error) {
	s := &spill{}
	if err := s.file.Create(dir); err != nil {
		return nil, fmt.Errorf("sort: cannot spill: %w", err)
	}
	return s, nil
}

// write appends sorted entries as a run and returns its length.
func (s *spill) write(entries []sortRef) (int64, error) {
	start := s.size
	w := bufio.NewWriterSize(&s.file, spillBuffer)
	var head []byte
	for _, ref := range entries {
		e := ref.entry
		head = binary.AppendUvarint(head[:0], uint64(e.keyLen))
		head = binary.AppendUvarint(head, uint64(e.recLen))
		head = binary.AppendUvarint(head, uint64(len(e.data)-e.keyLen-e.recLen))
		head = binary.AppendUvarint(head, e.seq)
		// A bufio.Writer keeps its first error for Flush.
		_, _ = w.Write(head)
		_, _ = w.Write(e.data)
		s.size += int64(len(head) + len(e.data))
	}
	if err := w.Flush(); err != nil {
		return 0, fmt.Errorf("sort: cannot spill: %w", err)
	}
	s.runs = append(s.runs, run{start, s.size})
	return s.size - start, nil
}

// merge returns the entries of all runs in order.
func (s *spill) merge() (sortSource, error) {
	m := &runMerge{}
	for _, r := range s.runs {
		rd := &runReader{r: bufio.NewReaderSize(io.NewSectionReader(&s.file, r.start, r.end-r.start), spillBuffer)}
		if err := rd.advance(); err != nil {
			return nil, err
		}
		m.readers = append(m.readers, rd)
	}
	heap.Init(m)
	return m, nil
}

func (s *spill) close() { s.file.Close() }

// runReader reads one run.
type runReader struct {
	r   *bufio.Reader
	buf sortEntry
	cur sortRef // without an entry at the end
}

func (r *runReader) advance() error {
	var n [4]uint64
	for i := range n {
		v, err := binary.ReadUvarint(r.r)
		if i == 0 && errors.Is(err, io.EOF) {
			r.cur = sortRef{}
			return nil
		}
		if err != nil {
			return fmt.Errorf("sort: cannot read a spilled run: %w", err)
		}
		n[i] = v
	}
	size := int(n[0] + n[1] + n[2])
	if cap(r.buf.data) < size {
		r.buf.data = make([]byte, size)
	}
	r.buf.data = r.buf.data[:size]
	if _, err := io.ReadFull(r.r, r.buf.data); err != nil {
		return fmt.Errorf("sort: cannot read a spilled run: %w", err)
	}
	r.buf.keyLen, r.buf.recLen, r.buf.seq = int(n[0]), int(n[1]), n[3]
	r.cur = sortRef{keyHead(r.buf.key()), &r.buf}
	return nil
}

// runMerge is a heap of runs with the smallest entry on top.
type runMerge struct {
	readers []*runReader
	given   bool // the top entry was given out: it moves before the next one is given
}

func (m *runMerge) next() (*sortEntry, error) {
	if m.given && len(m.readers) > 0 {
		top := m.readers[0]
		if err := top.advance(); err != nil {
			return nil, err
		}
		if top.cur.entry == nil {
			heap.Pop(m)
		} else {
			heap.Fix(m, 0)
		}
	}
	if len(m.readers) == 0 {
		return nil, nil
	}
	m.given = true
	return m.readers[0].cur.entry, nil
}

func (m *runMerge) Len() int           { return len(m.readers) }
func (m *runMerge) Less(i, j int) bool { return compareEntries(m.readers[i].cur, m.readers[j].cur) < 0 }
func (m *runMerge) Swap(i, j int)      { m.readers[i], m.readers[j] = m.readers[j], m.readers[i] }
func (m *runMerge) Push(x any)         { m.readers = append(m.readers, x.(*runReader)) }
func (m *runMerge) Pop() any {
	last := m.readers[len(m.readers)-1]
	m.readers = m.readers[:len(m.readers)-1]
	return last
}
