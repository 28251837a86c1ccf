// Package spill keeps in a temporary file what an operation that reached its memory limit has gathered.
package spill

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

// Runs are sorted runs of (key, payload), to be read back merged. A run is written when the memory is
// full, in the order of the bytes of its keys:
//
//	for each kept thing, in the order of its key { runs.Add(key, payload) }
//	runs.EndRun()
//	…
//	merged, err := runs.Merge()
//	for merged.Next() { merged.Key(), merged.Payload() }
//
// Runs belong to one goroutine and are closed once. Closing unused or nil ones does nothing.
//
// An entry is: uvarint length of the key, uvarint length of the payload, key, payload.
type Runs struct {
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

// WriteBuffer is the size of the buffer through which a file is written.
const WriteBuffer = 256 << 10

const (
	readBuffer = 32 << 10
	// A merge of many runs has smaller buffers, of readTotal together.
	readTotal       = 2 << 20
	smallReadBuffer = 8 << 10
)

// New returns runs for a file in dir. held is an empty holding of the budget that the buffers count in.
func New(dir string, held memory.Holding) *Runs { return &Runs{dir: dir, held: held} }

// Add appends an entry to the current run. Its key is not less than the one before. The parts of the
// payload are joined. EndRun reports errors.
func (s *Runs) Add(key []byte, payload ...[]byte) {
	if s.err != nil {
		return
	}
	if s.out == nil {
		if s.err = s.file.Create(s.dir); s.err != nil {
			return
		}
		s.held.Force(WriteBuffer)
		s.out = bufio.NewWriterSize(&s.file, WriteBuffer)
	}
	if !s.inRun {
		s.inRun = true
		s.starts = append(s.starts, s.size)
	}
	size := 0
	for _, part := range payload {
		size += len(part)
	}
	head := binary.AppendUvarint(s.head[:0], uint64(len(key)))
	s.write(binary.AppendUvarint(head, uint64(size)))
	s.write(key)
	for _, part := range payload {
		s.write(part)
	}
}

func (s *Runs) write(b []byte) {
	if s.err != nil {
		return
	}
	n, err := s.out.Write(b)
	s.size += int64(n)
	if err != nil {
		s.err = fmt.Errorf("writing a spilled run: %w", err)
	}
}

// EndRun ends the current run, and reports the first error of its entries.
func (s *Runs) EndRun() error {
	s.inRun = false
	return s.err
}

// Used reports whether there is a run.
func (s *Runs) Used() bool { return s.Count() > 0 }

// Count returns how many runs there are.
func (s *Runs) Count() int {
	if s == nil {
		return 0
	}
	return len(s.starts)
}

// Size returns how many bytes the runs have.
func (s *Runs) Size() int64 {
	if s == nil {
		return 0
	}
	return s.size
}

// Merge returns all entries in the order of their keys; of equal keys, those of earlier runs come first, and those of
// one run in the order in which they were added. Nothing may be added later.
func (s *Runs) Merge() (*Merge, error) { return MergeAll([]*Runs{s}) }

// MergeAll merges several files of runs, of which the earlier ones come first.
func MergeAll(all []*Runs) (*Merge, error) {
	m := &Merge{}
	runs := 0
	for _, s := range all {
		if !s.Used() {
			continue
		}
		if err := s.flush(); err != nil {
			return nil, err
		}
		m.held = &s.held
		runs += len(s.starts)
	}
	buffer := min(max(readTotal/max(runs, 1), smallReadBuffer), readBuffer)
	m.fixed = int64(runs * buffer)
	for _, s := range all {
		if err := s.addRuns(m, buffer); err != nil {
			return nil, err
		}
	}
	heap.Init(&m.runs)
	return m, nil
}

// flush writes what the buffer has, and gives it up.
func (s *Runs) flush() error {
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

func (s *Runs) addRuns(m *Merge, buffer int) error {
	if !s.Used() {
		return nil
	}
	for i, start := range s.starts {
		end := s.size
		if i+1 < len(s.starts) {
			end = s.starts[i+1]
		}
		r := &run{in: bufio.NewReaderSize(io.NewSectionReader(&s.file, start, end-start), buffer), number: len(m.runs)}
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

// Close removes the file.
func (s *Runs) Close() {
	if s != nil {
		s.file.Close()
		s.held.Release()
	}
}

// Merge reads the entries of all runs in order. It keeps one key of each run: a payload may be as
// large as all that a stage keeps, and is read when it is its turn.
type Merge struct {
	runs    runHeap
	held    *memory.Holding // of one of the spills
	fixed   int64           // what the runs take beside their keys
	keys    int64           // the room of the keys
	started bool
	err     error
	// key and payload are the current entry.
	key, payload []byte
}

// Key returns the key of the current entry. It is valid until the following Next.
func (m *Merge) Key() []byte { return m.key }

// Payload returns the payload of the current entry. It is valid until the following Next.
func (m *Merge) Payload() []byte { return m.payload }

// Err returns the error that ended the merge, or nil.
func (m *Merge) Err() error { return m.err }

// Next goes to the next entry. It reports false at the end, or at an error, which Err returns then.
func (m *Merge) Next() bool {
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
func (m *Merge) nextKey(r *run) (bool, error) {
	ok, err := r.next(func(key int) error {
		m.keys += int64(key - cap(r.key))
		return m.hold(cap(m.payload))
	})
	return ok, err
}

// readPayload reads the payload of the current entry.
func (m *Merge) readPayload(r *run) error {
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
func (m *Merge) hold(n int) error { return m.held.Hold(m.fixed + m.keys + int64(n)) }

// run reads one run.
type run struct {
	in      *bufio.Reader
	number  int
	key     []byte
	payload int // the length of the payload, which follows in the file
}

// next reads the next key. The payload of the entry before was read. hold is called before the key
// gets room for a number of bytes.
func (r *run) next(hold func(room int) error) (bool, error) {
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
func (r *run) read(p []byte) error {
	if _, err := io.ReadFull(r.in, p); err != nil {
		return fmt.Errorf("reading a spilled run: %w", err)
	}
	return nil
}

// runHeap is a heap of runs by their current keys.
type runHeap []*run

// Len implements heap.Interface.
func (h runHeap) Len() int { return len(h) }

// Less implements heap.Interface.
func (h runHeap) Less(i, j int) bool {
	if c := bytes.Compare(h[i].key, h[j].key); c != 0 {
		return c < 0
	}
	return h[i].number < h[j].number
}

// Swap implements heap.Interface.
func (h runHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

// Push implements heap.Interface.
func (h *runHeap) Push(x any) {
	r, _ := x.(*run)
	*h = append(*h, r)
}

// Pop implements heap.Interface.
func (h *runHeap) Pop() any {
	last := len(*h) - 1
	r := (*h)[last]
	*h = (*h)[:last]
	return r
}
