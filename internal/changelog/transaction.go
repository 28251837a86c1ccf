package changelog

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/oplog"
	"github.com/sheafdb/sheaf/internal/storage"
)

// maxApplyOps is the largest size of the operations in one oplog entry, in bytes, so that clients
// can read the entry.
const maxApplyOps = limits.DocumentBytes

// Transaction collects the operations that a multi-document transaction adds to the oplog with its
// commit. They become one entry, whose applyOps are the operations in order, or a chain of entries
// with consecutive stamps. All entries of a chain except the last have partialTxn: true; the last
// has the number of operations.
type Transaction struct {
	// By identifies the transaction in the entries; it may be nil.
	By   *oplog.Writer
	ops  []byte // the operations of all entries, one after another
	ends []int  // end offset of each operation
	size int
}

// Add adds a copy of an operation.
func (t *Transaction) Add(op *oplog.Operation) {
	t.ops = op.AppendTo(t.ops)
	t.ends = append(t.ends, len(t.ops))
	t.size = len(t.ops)
}

// Put adds the entries to the storage transaction.
func (t *Transaction) Put(log *Log, txn storage.Txn) error {
	for first, from := 0, 0; first < len(t.ends); {
		next := first + 1
		for next < len(t.ends) && t.ends[next]-from <= maxApplyOps {
			next++
		}
		o := t.entry(first, next, from)
		if err := log.appendOne(txn,
			&oplog.Operation{Kind: oplog.Command, Namespace: "admin.$cmd", O: o, By: t.By}); err != nil {
			return err
		}
		first, from = next, t.ends[next-1]
	}
	return nil
}

// entry returns the command with the operations [first, next). from is the offset of the first.
func (t *Transaction) entry(first, next, from int) bsonx.Doc {
	b := bsonx.NewBuilder(slices.Grow([]byte(nil), t.ends[next-1]-from+16*(next-first)))
	b.StartDoc()
	b.StartArrayField("applyOps")
	for i := first; i < next; i++ {
		b.Elem(bsonx.Document(bsonx.Doc(t.ops[from:t.ends[i]])))
		from = t.ends[i]
	}
	b.End()
	switch {
	case next < len(t.ends):
		b.Bool("partialTxn", true)
	case first > 0:
		b.Int64("count", int64(len(t.ends)))
	}
	b.End()
	return b.Bytes()
}

// Size returns the total size of the operations, in bytes.
func (t *Transaction) Size() int { return t.size }

// Memory returns the memory that the operations take, in bytes.
func (t *Transaction) Memory() int64 { return int64(cap(t.ops)) }
