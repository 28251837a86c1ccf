package pipeline

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
	// minSpill is the least that is written to the disk because the server has no memory left.
	minSpill = 1 << 20
)

// memoryLimit returns what one stage may keep.
func (e *Env) memoryLimit() int {
	limit := limits.OperatorBytes
	if e == nil {
		return limit
	}
	if e.MemoryLimit > 0 {
		limit = e.MemoryLimit
	}
	return int(e.Memory.Share(memoryShare, int64(limit)))
}

// hold returns a stage's part of the server's memory.
func (e *Env) hold() memory.Holding {
	if e == nil {
		return memory.Holding{}
	}
	return e.Memory.Hold()
}

// newSpill returns runs for what the memory has no room for, or nil where a stage may not use the disk.
func (e *Env) newSpill() *spill.Runs {
	if e == nil || !e.AllowDiskUse {
		return nil
	}
	return spill.New(e.TempDir, e.hold())
}

// newSorter returns what sorts within a stage's memory; a limit of 0 wants all entries.
func (e *Env) newSorter(limit int64) *extsort.Sorter {
	opts := extsort.Options{Limit: limit, Memory: e.memoryLimit()}
	if e != nil {
		opts.Budget, opts.Disk, opts.Dir = e.Memory, e.AllowDiskUse, e.TempDir
	}
	return extsort.New(opts)
}

// bytesOf returns how long documents are together.
func bytesOf(docs []bsonx.Doc) (n int64) {
	for _, doc := range docs {
		n += int64(len(doc))
	}
	return n
}

// maxIdleBuffer is the largest buffer that a stage keeps between two batches without need.
const maxIdleBuffer = 4 << 10

// idle returns a buffer for the following batch: a large one is given up.
func idle(buf []byte) []byte {
	if cap(buf) > maxIdleBuffer {
		return nil
	}
	return buf
}

// idleBuilder gives a large buffer up that a builder has.
func idleBuilder(b *bsonx.Builder) {
	if cap(b.Bytes()) > maxIdleBuffer {
		b.Reset(nil)
	}
}

// fits makes a stage's holding cover n bytes. Where the server has no room, it reports false if the stage can write what it
// keeps to the disk, and fails if not.
func fits(held *memory.Holding, n int, spills bool) (bool, error) {
	if !spills {
		return true, held.Hold(int64(n))
	}
	return n < minSpill || held.Fits(int64(n)), nil
}

// largeDocument is the size from which on the memory for a document's key and copy is held before
// they are made.
const largeDocument = 256 << 10
