package source

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/extsort"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/memory"
	"github.com/sheafdb/sheaf/internal/spill"
)

const (
	// memoryShare is which part of the server's memory one stage may keep at most.
	memoryShare = 2
	// MinSpill is the least that is written to the disk because the server has no memory left.
	MinSpill = 1 << 20
)

// Limit returns what one stage may keep.
func (e *Env) Limit() int {
	limit := limits.OperatorBytes
	if e == nil {
		return limit
	}
	if e.MemoryLimit > 0 {
		limit = e.MemoryLimit
	}
	return int(e.Memory.Share(memoryShare, int64(limit)))
}

// Hold returns a stage's part of the server's memory.
func (e *Env) Hold() memory.Holding {
	if e == nil {
		return memory.Holding{}
	}
	return e.Memory.Hold()
}

// NewSpill returns runs for what the memory has no room for, or nil where a stage may not use the disk.
func (e *Env) NewSpill() *spill.Runs {
	if e == nil || !e.AllowDiskUse {
		return nil
	}
	return spill.New(e.TempDir, e.Hold())
}

// NewSorter returns what sorts within a stage's memory; a limit of 0 wants all entries.
func (e *Env) NewSorter(limit int64) *extsort.Sorter {
	opts := extsort.Options{Limit: limit, Memory: e.Limit()}
	if e != nil {
		opts.Budget, opts.Disk, opts.Dir = e.Memory, e.AllowDiskUse, e.TempDir
	}
	return extsort.New(opts)
}

// BytesOf returns how long documents are together.
func BytesOf(docs []bsonx.Doc) (n int64) {
	for _, doc := range docs {
		n += int64(len(doc))
	}
	return n
}

// maxIdleBuffer is the largest buffer that a stage keeps between two batches without need.
const maxIdleBuffer = 4 << 10

// Idle returns a buffer for the following batch: a large one is given up.
func Idle(buf []byte) []byte {
	if cap(buf) > maxIdleBuffer {
		return nil
	}
	return buf
}

// IdleBuilder gives a large buffer up that a builder has.
func IdleBuilder(b *bsonx.Builder) {
	if cap(b.Bytes()) > maxIdleBuffer {
		b.Reset(nil)
	}
}

// Fits makes a stage's holding cover n bytes. Where the server has no room, it reports false if the stage can write what it
// keeps to the disk, and fails if not.
func Fits(held *memory.Holding, n int, spills bool) (bool, error) {
	if !spills {
		return true, held.Hold(int64(n))
	}
	return n < MinSpill || held.Fits(int64(n)), nil
}

// LargeDocument is the size from which on the memory for a document's key and copy is held before
// they are made.
const LargeDocument = 256 << 10
