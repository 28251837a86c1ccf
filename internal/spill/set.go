package spill

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"slices"

	"github.com/sheafdb/sheaf/internal/tempfile"
)

// Set is a set of byte strings. It stores a digest of 128 bits for each, computed with secret hash
// functions. Spill moves the digests in memory to a sorted run in a file. Of such a run, only every
// digestBlock-th digest stays in memory. A zero Set is empty.
type Set struct {
	seeds  [2]maphash.Seed
	memory map[digest]struct{}
	file   tempfile.File
	runs   []digestRun
	block  []byte
}

type digest [16]byte

// digestRun is a sorted list of digests in the file.
type digestRun struct {
	at     int64
	n      int
	fences []digest // the first digest of each block
}

const (
	digestBlock = 256 // number of digests in a block
	digestBytes = 48  // estimated memory of a digest
)

// Add adds a key and reports whether it is new.
func (s *Set) Add(key []byte) (bool, error) {
	if s.memory == nil {
		s.memory = map[digest]struct{}{}
		if s.runs == nil {
			s.seeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}
		}
	}
	var d digest
	binary.BigEndian.PutUint64(d[:8], maphash.Bytes(s.seeds[0], key))
	binary.BigEndian.PutUint64(d[8:], maphash.Bytes(s.seeds[1], key))
	if _, there := s.memory[d]; there {
		return false, nil
	}
	for i := range s.runs {
		there, err := s.inRun(&s.runs[i], d)
		if there || err != nil {
			return false, err
		}
	}
	s.memory[d] = struct{}{}
	return true, nil
}

// Bytes estimates the memory of the set, in bytes.
func (s *Set) Bytes() int { return digestBytes * len(s.memory) }

func compareDigests(a, b digest) int { return bytes.Compare(a[:], b[:]) }

func (s *Set) inRun(r *digestRun, d digest) (bool, error) {
	i, found := slices.BinarySearchFunc(r.fences, d, compareDigests)
	if found || i == 0 {
		return found, nil
	}
	first := (i - 1) * digestBlock
	n := min(digestBlock, r.n-first)
	s.block = slices.Grow(s.block[:0], n*len(d))[:n*len(d)]
	if _, err := s.file.ReadAt(s.block, r.at+int64(first*len(d))); err != nil {
		return false, fmt.Errorf("reading a spilled set: %w", err)
	}
	low, high := 0, n
	for low < high {
		mid := (low + high) / 2
		switch c := bytes.Compare(s.block[mid*len(d):(mid+1)*len(d)], d[:]); {
		case c == 0:
			return true, nil
		case c < 0:
			low = mid + 1
		default:
			high = mid
		}
	}
	return false, nil
}

// Spill moves the digests in memory to the file, which is created in dir if necessary.
func (s *Set) Spill(dir string) error {
	if len(s.memory) == 0 {
		return nil
	}
	if err := s.file.Create(dir); err != nil {
		return err
	}
	list := make([]digest, 0, len(s.memory))
	for d := range s.memory {
		list = append(list, d)
	}
	slices.SortFunc(list, compareDigests)
	r := digestRun{at: s.file.Size(), n: len(list)}
	data := make([]byte, 0, len(list)*len(digest{}))
	for i, d := range list {
		if i%digestBlock == 0 {
			r.fences = append(r.fences, d)
		}
		data = append(data, d[:]...)
	}
	if _, err := s.file.Write(data); err != nil {
		return fmt.Errorf("writing a spilled set: %w", err)
	}
	s.runs = append(s.runs, r)
	s.memory = nil
	return nil
}

// Reset empties the set.
func (s *Set) Reset() {
	clear(s.memory)
	s.runs = nil
	s.file.Reset()
}

// Close removes the file.
func (s *Set) Close() { s.file.Close() }
