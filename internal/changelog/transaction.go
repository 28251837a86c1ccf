package changelog

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/oplog"
	"github.com/sheafdb/sheaf/internal/storage"
)

// maxApplyOps bounds the operations of one entry of the log, in bytes, so that the entry stays a
// document that clients read.
const maxApplyOps = limits.DocumentBytes

// Transaction collects what a transaction adds to the log of changes with its commit: one entry,
// whose applyOps are the operations in order, or a chain of them with consecutive stamps. All but
// the last one of a chain have partialTxn: true, and the last one tells the number of operations.
type Transaction struct {
	// By names the transaction in the entries; nil for nobody.
	By   *oplog.Writer
	ops  []byte // the operations of all entries, one behind the other
	ends []int  // where each ends
	size int
}

// Add takes an operation over; it copies what it keeps.
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
		if err := log.appendOne(txn, &oplog.Operation{Kind: oplog.Command, Namespace: "admin.$cmd", O: o, By: t.By}); err != nil {
			return err
		}
		first, from = next, t.ends[next-1]
	}
	return nil
}

// entry returns the command with the operations [first, next), of which the first begins at from.
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

// Size returns how many bytes of operations there are, Memory what they take.
func (t *Transaction) Size() int { return t.size }

// Memory returns how many bytes of memory the operations take.
func (t *Transaction) Memory() int64 { return int64(cap(t.ops)) }
