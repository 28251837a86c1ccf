package write

import (
	"context"
	"sync"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/plan"
)

// batch holds targets that a plan has found and that are changed together.
type batch struct {
	found  []place
	memory []byte // keys and documents of the targets, one after another
}

// place holds the offsets of a target in the memory of its batch: the start of its key, the start
// of its document, and its end.
type place struct{ key, doc, end int }

var batches = sync.Pool{New: func() any { return new(batch) }}

func getBatch() *batch { return batches.Get().(*batch) }

func putBatch(b *batch) {
	if cap(b.memory) > 2*changeBatchBytes {
		b.memory = nil
	}
	batches.Put(b)
}

func (b *batch) reset() { b.found, b.memory = b.found[:0], b.memory[:0] }

// fill adds targets until the batch is full. more is false if the plan has no further targets.
func (b *batch) fill(ctx context.Context, targets *plan.Execution) (more bool, err error) {
	for len(b.found) < changeBatchDocs && len(b.memory) < changeBatchBytes {
		row, err := targets.Next(ctx)
		if err != nil || row == nil {
			return false, err
		}
		f := place{key: len(b.memory)}
		b.memory = append(b.memory, row.RecordKey...)
		f.doc = len(b.memory)
		b.memory = append(b.memory, row.Doc...)
		f.end = len(b.memory)
		b.found = append(b.found, f)
	}
	return true, nil
}

func (b *batch) key(i int) []byte { return b.memory[b.found[i].key:b.found[i].doc] }

// doc returns the version of the i-th target that the plan matched.
func (b *batch) doc(i int) bsonx.Doc { return b.memory[b.found[i].doc:b.found[i].end] }
