package pipeline

import (
	"bufio"
	"bytes"
	"container/heap"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/sheafdb/sheaf/internal/memory"
	"github.com/sheafdb/sheaf/internal/tempfile"
)

// spill is what a stage that reached its memory limit keeps in a temporary file: runs of (key, payload), each of them
// ordered by the bytes of its keys, to be read back merged. A stage writes a run when its memory is full:
//
//	run := env.newSpill()
//	for each kept thing, in the order of its key { run.add(key, payload) }
//	run.endRun()
//	…
//	merged, err := run.merge()
//	for merged.next() { merged.key, merged.payload }
//
// A spill belongs to one goroutine and is closed once; closing an unused or nil one does nothing.
//
// An entry is: uvarint length of the key, uvarint length of the payload, key, payload.
type spill struct {
	dir    string
	held   memory.Holding // of the buffers, and of what a merge reads
	file   tempfile.File
	out    *bufio.Writer
	size   int64
	starts []int64 // where the runs begin
	inRun  bool
	err    error // the first failed write, reported by endRun
	head   [2 * binary.MaxVarintLen64]byte
}

const (
	spillWriteBuffer = 256 << 10
	spillReadBuffer  = 32 << 10
	// A merge of many runs has smaller buffers, of spillReadTotal together.
	spillReadTotal  = 2 << 20
	smallReadBuffer = 8 << 10
)

// newSpill returns an empty spill, or nil where the run may not use the disk.
func (e *Env) newSpill() *spill {
	if e == nil || !e.AllowDiskUse {
		return nil
	}
	return &spill{dir: e.TempDir, held: e.hold()}
}

// add appends an entry to the current run. Its key is not less than the one before. Errors show at endRun.
func (s *spill) add(key, payload []byte) {
	if s.err != nil {
		return
	}
	if s.out == nil {
		if s.err = s.file.Create(s.dir); s.err != nil {
			return
		}
		s.held.Force(spillWriteBuffer)
		s.out = bufio.NewWriterSize(&s.file, spillWriteBuffer)
	}
	if !s.inRun {
		s.inRun = true
		s.starts = append(s.starts, s.size)
	}
	head := binary.AppendUvarint(s.head[:0], uint64(len(key)))
	head = binary.AppendUvarint(head, uint64(len(payload)))
	for _, part := range [][]byte{head, key, payload} {
		n, err := s.out.Write(part)
		s.size += int64(n)
		if err != nil {
			s.err = fmt.Errorf("writing a spilled run: %w", err)
			return
		}
	}
}

// endRun ends the current run, and reports the first error of its entries.
func (s *spill) endRun() error {
	s.inRun = false
	return s.err
}

// used reports whether anything has been spilled.
func (s *spill) used() bool { return s != nil && len(s.starts) > 0 }

// merge returns all entries in the order of their keys; of equal keys, those of earlier runs come first, and those of
// one run in the order in which they were added. Nothing may be added later.
func (s *spill) merge() (*spillMerge, error) { return mergeSpills([]*spill{s}) }

// mergeSpills is merge of several spills, of which the earlier ones come first.
func mergeSpills(spills []*spill) (*spillMerge, error) {
	m := &spillMerge{}
	runs := 0
	for _, s := range spills {
		if !s.used() {
			continue
		}
		if err := s.flush(); err != nil {
			return nil, err
		}
		m.held = &s.held
		runs += len(s.starts)
	}
	buffer := min(max(spillReadTotal/max(runs, 1), smallReadBuffer), spillReadBuffer)
	m.fixed = int64(runs * buffer)
	for _, s := range spills {
		if err := s.addRuns(m, buffer); err != nil {
			return nil, err
		}
	}
	heap.Init(&m.runs)
	return m, nil
}

// flush writes what the buffer has, and gives it up.
func (s *spill) flush() error {
	if s.err != nil {
		return s.err
	}
	if err := s.out.Flush(); err != nil {
		return fmt.Errorf("writing a spilled run: %w", err)
	}
	s.out = nil
	s.held.Release()
	return nil
}

func (s *spill) addRuns(m *spillMerge, buffer int) error {
	if !s.used() {
		return nil
	}
	for i, start := range s.starts {
		end := s.size
		if i+1 < len(s.starts) {
			end = s.starts[i+1]
		}
		r := &spillRun{in: bufio.NewReaderSize(io.NewSectionReader(&s.file, start, end-start), buffer), number: len(m.runs)}
		ok, err := m.nextKey(r)
		if err != nil {
			return err
		}
		if ok {
			m.runs = append(m.runs, r)
		}
	}
	return nil
}

// close removes the file.
func (s *spill) close() {
	if s != nil {
		s.file.Close()
		s.held.Release()
	}
}

// spillMerge reads the entries of all runs in order. Of a run it keeps a key: a payload may be as
// large as all that a stage keeps, and is read when it is its turn.
type spillMerge struct {
	runs    spillRuns
	held    *memory.Holding // of one of the spills
	fixed   int64           // what the runs take beside their keys
	keys    int64           // the room of the keys
	started bool
	err     error
	// key and payload are the current entry, valid until the following next.
	key, payload []byte
}

// next goes to the next entry, and reports false at the end or at an error, which err has then.
func (m *spillMerge) next() bool {
	if m.err != nil || len(m.runs) == 0 {
		return false
	}
	if m.started {
		ok, err := m.nextKey(m.runs[0])
		if m.err = err; err != nil {
			return false
		}
		if ok {
			heap.Fix(&m.runs, 0)
		} else {
			heap.Pop(&m.runs)
		}
	}
	m.started = true
	if len(m.runs) == 0 {
		return false
	}
	m.key = m.runs[0].key
	m.err = m.readPayload(m.runs[0])
	return m.err == nil
}

// nextKey goes to the next entry of a run, and reports false at its end.
func (m *spillMerge) nextKey(r *spillRun) (bool, error) {
	ok, err := r.next(func(key int) error {
		m.keys += int64(key - cap(r.key))
		return m.hold(cap(m.payload))
	})
	return ok, err
}

// readPayload reads the payload of the current entry.
func (m *spillMerge) readPayload(r *spillRun) error {
	if cap(m.payload) < r.payload {
		if err := m.hold(r.payload); err != nil {
			return err
		}
		m.payload = make([]byte, r.payload)
	}
	m.payload = m.payload[:r.payload]
	return r.read(m.payload)
}

// hold counts the memory of the merge, with a payload of n bytes.
func (m *spillMerge) hold(n int) error { return m.held.Hold(m.fixed + m.keys + int64(n)) }

// spillRun reads one run.
type spillRun struct {
	in      *bufio.Reader
	number  int
	key     []byte
	payload int // the length of the payload, which follows in the file
}

// next reads the next key. The payload of the entry before was read. hold is called before the key
// gets room for a number of bytes.
func (r *spillRun) next(hold func(room int) error) (bool, error) {
	keyLen, err := binary.ReadUvarint(r.in)
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading a spilled run: %w", err)
	}
	payloadLen, err := binary.ReadUvarint(r.in)
	if err != nil {
		return false, fmt.Errorf("reading a spilled run: %w", err)
	}
	if n := int(keyLen); cap(r.key) < n {
		room := n + min(n/2, smallReadBuffer)
		if err := hold(room); err != nil {
			return false, err
		}
		r.key = make([]byte, room)
	}
	r.key, r.payload = r.key[:keyLen], int(payloadLen)
	return true, r.read(r.key)
}

// read reads what follows in the file.
func (r *spillRun) read(p []byte) error {
	if _, err := io.ReadFull(r.in, p); err != nil {
		return fmt.Errorf("reading a spilled run: %w", err)
	}
	return nil
}

// spillRuns is a heap of runs by their current keys.
type spillRuns []*spillRun

// Len implements heap.Interface.
func (h spillRuns) Len() int { return len(h) }

// Less implements heap.Interface.
func (h spillRuns) Less(i, j int) bool {
	if c := bytes.Compare(h[i].key, h[j].key); c != 0 {
		return c < 0
	}
	return h[i].number < h[j].number
}

// Swap implements heap.Interface.
func (h spillRuns) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

// Push implements heap.Interface.
func (h *spillRuns) Push(x any) {
	r, _ := x.(*spillRun)
	*h = append(*h, r)
}

// Pop implements heap.Interface.
func (h *spillRuns) Pop() any {
	last := len(*h) - 1
	r := (*h)[last]
	*h = (*h)[:last]
	return r
}
