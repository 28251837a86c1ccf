package spill

import (
	"bufio"
	"encoding/binary"
	"fmt"

	"github.com/sheafdb/sheaf/internal/memory"
	"github.com/sheafdb/sheaf/internal/tempfile"
)

// Runs are sorted runs of entries (key, payload) in a file, which Merge reads back in order. The
// owner writes a run whenever its memory is full, in the byte order of the keys:
//
//	for each entry in memory, in the order of its key { runs.Add(key, payload) }
//	runs.EndRun()
//	…
//	merged, err := runs.Merge()
//	for merged.Next() { merged.Key(), merged.Payload() }
//
// Only one goroutine may use Runs. They are closed once. Closing unused or nil Runs does nothing.
//
// An entry in the file is: uvarint length of the key, uvarint length of the payload, key, payload.
type Runs struct {
	dir    string
	held   memory.Holding // memory of the buffers, and of the entries that a merge reads
	file   tempfile.File
	out    *bufio.Writer
	size   int64
	starts []int64 // offsets at which the runs begin
	inRun  bool
	err    error // the first failed write, reported by EndRun
	head   [2 * binary.MaxVarintLen64]byte
}

// writeBuffer is the size of the buffer through which a file is written, in bytes.
const writeBuffer = 256 << 10

// New returns runs in a file in dir. held is an empty holding that accounts for the buffers.
func New(dir string, held memory.Holding) *Runs { return &Runs{dir: dir, held: held} }

// Add appends an entry to the current run. Its key must not be less than the previous key. The
// parts of the payload are concatenated. EndRun reports errors.
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

// EndRun ends the current run. It returns the first error of Add.
func (s *Runs) EndRun() error {
	s.inRun = false
	return s.err
}

// Used reports whether there is at least one run.
func (s *Runs) Used() bool { return s.Count() > 0 }

// Count returns the number of runs.
func (s *Runs) Count() int {
	if s == nil {
		return 0
	}
	return len(s.starts)
}

// Size returns the total size of the runs in bytes.
func (s *Runs) Size() int64 {
	if s == nil {
		return 0
	}
	return s.size
}

// flush writes the buffer to the file and frees the buffer.
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
