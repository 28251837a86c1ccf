package source

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/extsort"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/memory"
	"github.com/sheafdb/sheaf/internal/spill"
)

const (
	// memoryShare is the divisor that limits one stage to half of the server's memory budget.
	memoryShare = 2
	// MinSpill is the smallest number of bytes that a stage spills because the server's memory is
	// exhausted. Below it, the stage keeps the data in memory.
	MinSpill = 1 << 20
)

// Budget is a memory limit of a stage that a server parameter sets. The stages that compile into
// this one have the same limit.
type Budget struct {
	Param string
	Least int64 // the smallest value of the parameter
}

// For returns the environment for a stage that has its own memory limit b.
func (e *Env) For(b Budget) *Env {
	if e == nil || len(e.Budgets) == 0 {
		return e
	}
	n, ok := e.Budgets[b.Param]
	if !ok || n == e.MemoryLimit {
		return e
	}
	own := *e
	own.MemoryLimit = n
	return &own
}

// Configured returns the memory limit of one stage in bytes, however much memory the server has.
func (e *Env) Configured() int {
	if e == nil || e.MemoryLimit == 0 {
		return limits.OperatorBytes
	}
	return e.MemoryLimit
}

// Limit returns the number of bytes that one stage may keep in memory.
func (e *Env) Limit() int {
	if e == nil {
		return limits.OperatorBytes
	}
	return int(e.Memory.Share(memoryShare, int64(e.Configured())))
}

// Hold returns a stage's empty reservation in the server's memory budget.
func (e *Env) Hold() memory.Holding {
	if e == nil {
		return memory.Holding{}
	}
	return e.Memory.Hold()
}

// NewSpill returns runs to which a stage can spill, or nil if the operation may not use the disk.
func (e *Env) NewSpill() *spill.Runs {
	if e == nil || !e.AllowDiskUse {
		return nil
	}
	return spill.New(e.TempDir, e.Hold())
}

// NewSorter returns a sorter within the memory limit of a stage. It returns the first limit entries
// in order, or all entries if limit is 0.
func (e *Env) NewSorter(limit int64) *extsort.Sorter {
	opts := extsort.Options{Limit: limit, Memory: e.Limit()}
	if e != nil {
		opts.Budget, opts.Disk, opts.Dir = e.Memory, e.AllowDiskUse, e.TempDir
	}
	return extsort.New(opts)
}

// BytesOf returns the total length of documents in bytes.
func BytesOf(docs []bsonx.Doc) (n int64) {
	for _, doc := range docs {
		n += int64(len(doc))
	}
	return n
}

// maxIdleBuffer is the capacity, in bytes, of the largest reusable buffer that a stage keeps
// between two batches.
const maxIdleBuffer = 4 << 10

// Idle returns buf for reuse in the next batch, or nil to free it if its capacity exceeds
// maxIdleBuffer.
func Idle(buf []byte) []byte {
	if cap(buf) > maxIdleBuffer {
		return nil
	}
	return buf
}

// IdleBuilder frees the buffer of b if its capacity exceeds maxIdleBuffer.
func IdleBuilder(b *bsonx.Builder) {
	if cap(b.Bytes()) > maxIdleBuffer {
		b.Reset(nil)
	}
}

// Fits changes the reservation held to n bytes. If the server's memory is exhausted, it returns
// false when the stage can spill, and an error when it cannot. Below MinSpill it returns true even
// without room.
func Fits(held *memory.Holding, n int, spills bool) (bool, error) {
	if !spills {
		return true, held.Hold(int64(n))
	}
	return n < MinSpill || held.Fits(int64(n)), nil
}

// LargeDocument is the size in bytes from which a stage reserves memory for the copy and key of a
// document before it makes them. For smaller documents it reserves the memory afterwards.
const LargeDocument = 256 << 10
