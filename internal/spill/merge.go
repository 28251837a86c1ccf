package spill

import (
	"bufio"
	"bytes"
	"cmp"
	"container/heap"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/sheafdb/sheaf/internal/memory"
)

const (
	readBuffer = 32 << 10
	// In a merge of many runs, the buffers of the runs share readTotal bytes. But each has at least
	// smallReadBuffer bytes.
	readTotal       = 2 << 20
	smallReadBuffer = 8 << 10
	// keyHead is the number of bytes of its current key that each run of a merge keeps in memory.
	// The rest of the key is read if two keys are equal so far, and when the entry is returned.
	keyHead = 8 << 10
)

// Merge returns all entries in the order of their keys. Entries with equal keys are in the order in
// which they were added. Nothing may be added afterwards.
func (s *Runs) Merge() (*Merge, error) { return MergeAll([]*Runs{s}) }

// MergeAll merges the runs of several Runs. Entries with equal keys are returned in the order of
// the Runs in all.
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
	return m, m.runs.err
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
		r := &run{
			in: bufio.NewReaderSize(io.NewSectionReader(&s.file, start, end-start), buffer), file: &s.file,
			at: start, number: len(m.runs.list),
		}
		ok, err := m.nextKey(r)
		if err != nil {
			return err
		}
		if ok {
			m.runs.list = append(m.runs.list, r)
		}
	}
	return nil
}

// Merge reads the entries of all runs in order. For each run it keeps only the head of one key in
// memory. Keys and payloads may be as large as all data of a stage, so they are read when their
// entry is returned.
type Merge struct {
	runs    runHeap
	held    *memory.Holding // the holding of one of the Runs
	fixed   int64           // memory of the runs without their keys
	keys    int64           // memory of the heads of keys
	started bool
	err     error
	// key and payload are the current entry. long is the buffer for keys that are longer than a
	// head.
	key, payload, long []byte
}

// Key returns the key of the current entry. It is valid until the next call of Next.
func (m *Merge) Key() []byte { return m.key }

// Payload returns the payload of the current entry. It is valid until the next call of Next.
func (m *Merge) Payload() []byte { return m.payload }

// Err returns the error that ended the merge, or nil.
func (m *Merge) Err() error { return m.err }

// Next moves to the next entry. It returns false at the end, and after an error, which Err returns.
func (m *Merge) Next() bool {
	if m.err != nil || len(m.runs.list) == 0 {
		return false
	}
	if m.started {
		ok, err := m.nextKey(m.runs.list[0])
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
	if m.err = m.runs.err; m.err != nil || len(m.runs.list) == 0 {
		return false
	}
	m.err = m.readEntry(m.runs.list[0])
	return m.err == nil
}

// nextKey moves a run to its next entry. It returns false at the end of the run.
func (m *Merge) nextKey(r *run) (bool, error) {
	ok, err := r.next(func(key int) error {
		m.keys += int64(key - cap(r.key))
		return m.hold(cap(m.long), cap(m.payload))
	})
	return ok, err
}

// readEntry reads the rest of the current key and the payload.
func (m *Merge) readEntry(r *run) error {
	if cap(m.payload) < r.payload || r.rest() > 0 && cap(m.long) < r.keyLen {
		if err := m.makeRoom(r); err != nil {
			return err
		}
	}
	m.key = r.key
	if r.rest() > 0 {
		m.key = append(m.long[:0], r.key...)[:r.keyLen]
		if err := r.read(m.key[len(r.key):]); err != nil {
			return err
		}
	}
	m.payload = m.payload[:r.payload]
	return r.read(m.payload)
}

// makeRoom allocates buffers for the current entry of a run.
func (m *Merge) makeRoom(r *run) error {
	key, payload := cap(m.long), cap(m.payload)
	if r.rest() > 0 {
		key = max(key, r.keyLen)
	}
	payload = max(payload, r.payload)
	if err := m.hold(key, payload); err != nil {
		return err
	}
	if key > cap(m.long) {
		m.long = make([]byte, key)
	}
	if payload > cap(m.payload) {
		m.payload = make([]byte, payload)
	}
	return nil
}

// hold accounts for the memory of the merge, including buffers of the given sizes for a long key
// and a payload.
func (m *Merge) hold(long, payload int) error {
	return m.held.Hold(m.fixed + m.keys + int64(long) + int64(payload))
}

// run is a reader of one run.
type run struct {
	in     *bufio.Reader
	file   io.ReaderAt // the file that in reads
	at     int64       // offset in the file of the next read of in
	number int
	key    []byte // current key, or its first keyHead bytes
	keyLen int
	// payload is the length of the payload, which follows the key in the file.
	payload int
}

// rest returns the number of bytes of the current key after its head.
func (r *run) rest() int { return r.keyLen - len(r.key) }

// next reads the next key. The payload of the previous entry must have been read. hold is called
// with the number of bytes before memory for a key is allocated.
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
	r.at += uvarintLen(keyLen) + uvarintLen(payloadLen)
	r.keyLen = int(keyLen)
	n := min(r.keyLen, keyHead)
	if cap(r.key) < n {
		room := min(n+n/2, keyHead)
		if err := hold(room); err != nil {
			return false, err
		}
		r.key = make([]byte, room)
	}
	r.key, r.payload = r.key[:n], int(payloadLen)
	return true, r.read(r.key)
}

// uvarintLen returns the length of n as a uvarint.
func uvarintLen(n uint64) int64 {
	var b [binary.MaxVarintLen64]byte
	return int64(binary.PutUvarint(b[:], n))
}

// read reads the next bytes of the file.
func (r *run) read(p []byte) error {
	if _, err := io.ReadFull(r.in, p); err != nil {
		return fmt.Errorf("reading a spilled run: %w", err)
	}
	r.at += int64(len(p))
	return nil
}

// runHeap is a heap of runs, ordered by their current keys.
type runHeap struct {
	list []*run
	a, b []byte // buffers for comparing two long keys
	err  error  // first error of a comparison
}

// Len implements heap.Interface.
func (h *runHeap) Len() int { return len(h.list) }

// Less implements heap.Interface.
func (h *runHeap) Less(i, j int) bool {
	a, b := h.list[i], h.list[j]
	c := bytes.Compare(a.key, b.key)
	if c == 0 && (a.rest() > 0 || b.rest() > 0) {
		c = h.compareRests(a, b)
	}
	if c != 0 {
		return c < 0
	}
	return a.number < b.number
}

// compareRests compares keys with equal heads. It reads them in pieces, and stores an error in
// h.err.
func (h *runHeap) compareRests(a, b *run) int {
	if h.a == nil {
		h.a, h.b = make([]byte, readBuffer), make([]byte, readBuffer)
	}
	common := min(a.rest(), b.rest())
	for done := 0; done < common && h.err == nil; done += readBuffer {
		n := min(common-done, readBuffer)
		if h.err = errors.Join(readAt(a, h.a[:n], done), readAt(b, h.b[:n], done)); h.err != nil {
			return 0
		}
		if c := bytes.Compare(h.a[:n], h.b[:n]); c != 0 {
			return c
		}
	}
	return cmp.Compare(a.rest(), b.rest())
}

// readAt reads bytes of the run's key, from the given number of bytes after its head.
func readAt(r *run, p []byte, behind int) error {
	if _, err := r.file.ReadAt(p, r.at+int64(behind)); err != nil {
		return fmt.Errorf("reading a spilled run: %w", err)
	}
	return nil
}

// Swap implements heap.Interface.
func (h *runHeap) Swap(i, j int) { h.list[i], h.list[j] = h.list[j], h.list[i] }

// Push implements heap.Interface.
func (h *runHeap) Push(x any) {
	r, _ := x.(*run)
	h.list = append(h.list, r)
}

// Pop implements heap.Interface.
func (h *runHeap) Pop() any {
	last := len(h.list) - 1
	r := h.list[last]
	h.list = h.list[:last]
	return r
}
