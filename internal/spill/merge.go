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
	// A merge of many runs has smaller buffers, of readTotal together.
	readTotal       = 2 << 20
	smallReadBuffer = 8 << 10
	// keyHead is how many bytes of its current key each run of a merge keeps in memory. What follows
	// them is read where two keys are equal so far, and when the key is due.
	keyHead = 8 << 10
)

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
			in: bufio.NewReaderSize(io.NewSectionReader(&s.file, start, end-start), buffer), file: &s.file, at: start, number: len(m.runs.list),
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

// Merge reads the entries of all runs in order. It keeps the head of one key of each run: keys and
// payloads may be as large as all that a stage keeps, and are read when it is their turn.
type Merge struct {
	runs    runHeap
	held    *memory.Holding // of one of the spills
	fixed   int64           // what the runs take beside their keys
	keys    int64           // the room of the heads of keys
	started bool
	err     error
	// key and payload are the current entry. long is the room of keys that have more than a head.
	key, payload, long []byte
}

// Key returns the key of the current entry. It is valid until the following Next.
func (m *Merge) Key() []byte { return m.key }

// Payload returns the payload of the current entry. It is valid until the following Next.
func (m *Merge) Payload() []byte { return m.payload }

// Err returns the error that ended the merge, or nil.
func (m *Merge) Err() error { return m.err }

// Next goes to the next entry. It reports false at the end, or at an error, which Err returns then.
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

// nextKey goes to the next entry of a run, and reports false at its end.
func (m *Merge) nextKey(r *run) (bool, error) {
	ok, err := r.next(func(key int) error {
		m.keys += int64(key - cap(r.key))
		return m.hold(cap(m.long), cap(m.payload))
	})
	return ok, err
}

// readEntry reads what follows the head of the current key.
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

// makeRoom makes room for the current entry of a run.
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

// hold counts the memory of the merge, with room for a long key and a payload.
func (m *Merge) hold(long, payload int) error {
	return m.held.Hold(m.fixed + m.keys + int64(long) + int64(payload))
}

// run reads one run.
type run struct {
	in     *bufio.Reader
	file   io.ReaderAt // of in
	at     int64       // where in reads next, in the file
	number int
	key    []byte // the current key, or the first keyHead bytes of it
	keyLen int
	// payload is the length of the payload, which follows the key in the file.
	payload int
}

// rest returns how many bytes the current key has behind its head.
func (r *run) rest() int { return r.keyLen - len(r.key) }

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

// uvarintLen returns how many bytes n has as a varint.
func uvarintLen(n uint64) int64 {
	var b [binary.MaxVarintLen64]byte
	return int64(binary.PutUvarint(b[:], n))
}

// read reads what follows in the file.
func (r *run) read(p []byte) error {
	if _, err := io.ReadFull(r.in, p); err != nil {
		return fmt.Errorf("reading a spilled run: %w", err)
	}
	r.at += int64(len(p))
	return nil
}

// runHeap is a heap of runs by their current keys.
type runHeap struct {
	list []*run
	a, b []byte // what is compared of two long keys
	err  error  // of the first comparison that failed
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

// compareRests compares keys whose heads are equal. It reads them in pieces, and remembers an error.
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

// readAt reads from the file what stands so many bytes behind the head of the run's key.
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
