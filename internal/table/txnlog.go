package table

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/oplog"
	"github.com/sheafdb/sheaf/internal/storage"
)

// maxApplyOps bounds the operations of one entry of the log, in bytes, so that the entry stays a document that clients read.
const maxApplyOps = 16 << 20

// txnLog collects what a transaction adds to the log of changes with its commit: one entry, whose applyOps are the operations
// in order, or a chain of them with consecutive stamps. All but the last one of a chain have partialTxn: true, and the last one
// tells the number of operations.
type txnLog struct {
	by   *oplog.Writer
	ops  []byte // the operations of all entries, one behind the other
	ends []int  // where each ends
	size int
}

// add takes an operation over; it copies what it keeps.
func (l *txnLog) add(op *oplog.Operation) {
	l.ops = op.AppendTo(l.ops)
	l.ends = append(l.ends, len(l.ops))
	l.size = len(l.ops)
}

// put adds the entries to the transaction.
func (l *txnLog) put(s *Store, txn storage.Txn) error {
	for first, from := 0, 0; first < len(l.ends); {
		next := first + 1
		for next < len(l.ends) && l.ends[next]-from <= maxApplyOps {
			next++
		}
		o := l.entry(first, next, from)
		if err := s.logEntry(txn, &oplog.Operation{Kind: oplog.Command, Namespace: "admin.$cmd", O: o, By: l.by}); err != nil {
			return err
		}
		first, from = next, l.ends[next-1]
	}
	return nil
}

// entry returns the command with the operations [first, next), of which the first begins at from.
func (l *txnLog) entry(first, next, from int) bsonx.Doc {
	b := bsonx.NewBuilder(slices.Grow([]byte(nil), l.ends[next-1]-from+16*(next-first)))
	b.StartDoc()
	b.StartArrayField("applyOps")
	for i := first; i < next; i++ {
		b.Elem(bsonx.Document(bsonx.Doc(l.ops[from:l.ends[i]])))
		from = l.ends[i]
	}
	b.End()
	switch {
	case next < len(l.ends):
		b.Bool("partialTxn", true)
	case first > 0:
		b.Int64("count", int64(len(l.ends)))
	}
	b.End()
	return b.Bytes()
}
