package spill

import (
	"bufio"
	"encoding/binary"
	"fmt"

	"github.com/sheafdb/sheaf/internal/memory"
	"github.com/sheafdb/sheaf/internal/tempfile"
)

// Runs are sorted runs of (key, payload), to be read back merged. A run is written when the memory
// is full, in the order of the bytes of its keys:
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

// writeBuffer is the size of the buffer through which a file is written.
const writeBuffer = 256 << 10

// New returns runs for a file in dir. held is an empty holding of the budget that the buffers count
// in.
func New(dir string, held memory.Holding) *Runs { return &Runs{dir: dir, held: held} }

// Add appends an entry to the current run. Its key is not less than the one before. The parts of
// the payload are joined. EndRun reports errors.
func (s *Runs) Add(key []byte, payload ...[]byte) {
	if s.err != nil {
		return
	}
	if s.out == nil {
		if s.err = s.file.Create(s.dir); s.err != nil {
			return
		}
		s.held.Force(writeBuffer)
		s.out = bufio.NewWriterSize(&s.file, writeBuffer)
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

// Close removes the file.
func (s *Runs) Close() {
	if s != nil {
		s.file.Close()
		s.held.Release()
	}
}
