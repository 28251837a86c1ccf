package changestream

import (
	"cmp"
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/oplog"
	"github.com/sheafdb/sheaf/internal/storage"
)

// transaction is the oplog entry of a transaction, with the position of the next operation to read.
type transaction struct {
	ops *bsonx.Iter // nil if no operations are left
	// index is the position of the next operation in the transaction. first is the position of the
	// entry's first operation.
	index, first    int32
	stamp           storage.Stamp
	entry           bsonx.Doc // nil if it must be read again
	owned           bool      // entry is a copy, not borrowed from the iterator
	wall            bsonx.Value
	lsid, txnNumber bsonx.Value
}

// begun sets rest to the entry of a transaction, which has the operations ops.
func (s *Stream) begun(outer *operation, entry, ops bsonx.Doc) {
	first := int32(0)
	if v, ok := entry.Lookup("firstIndex").AsExactInt64(); ok {
		first = int32(v)
	}
	s.rest = transaction{index: first, first: first, stamp: outer.stamp}
	s.rest.read(entry, ops)
}

// read sets the entry, which is borrowed, and skips the operations before index.
func (t *transaction) read(entry, ops bsonx.Doc) {
	t.entry, t.ops = entry, ops.Iter()
	t.wall, t.lsid, t.txnNumber = entry.Lookup("wall"), entry.Lookup("lsid"), entry.Lookup("txnNumber")
	for range t.index - t.first {
		t.ops.Next()
	}
}

// more adds the events of the next operation in rest to pending.
func (s *Stream) more(ctx context.Context) error {
	t := &s.rest
	if t.entry == nil {
		if err := s.reread(); err != nil {
			return err
		}
	}
	if !t.ops.Next() {
		s.endRest()
		s.dropSeen(s.scanned)
		return nil
	}
	op := s.operation(t.ops.Value().Doc(), t.stamp, t.wall)
	op.index = t.index
	if !t.lsid.IsMissing() {
		op.transaction, op.lsid, op.txnNumber = true, t.lsid, t.txnNumber
	}
	t.index++
	if op.kind == oplog.Command {
		s.pending = s.commandEvents(s.pending, &op)
	} else if e, err := s.documentEvent(ctx, &op); err != nil {
		return err
	} else if e != nil {
		s.pending = append(s.pending, e)
	}
	s.dropSeen(t.stamp)
	return nil
}

func (s *Stream) endRest() {
	s.rest = transaction{}
	s.held.Release()
}

// keepRest copies the entry in rest, because the iterator that the entry is borrowed from will be
// closed. If the server has no memory for the copy, the entry will be read again.
func (s *Stream) keepRest() {
	t := &s.rest
	if t.ops == nil || t.owned || t.entry == nil {
		return
	}
	entry := t.entry
	t.entry, t.ops = nil, new(bsonx.Iter)
	t.wall, t.lsid, t.txnNumber = bsonx.Missing, bsonx.Missing, bsonx.Missing
	if s.held.Fits(int64(len(entry))) {
		entry = entry.Clone()
		t.read(entry, entry.Lookup("o").Doc().Lookup("applyOps").Doc())
		t.owned = true
	}
}

// reread reads the entry of rest from the oplog again. It fails if the oplog no longer has the
// entry.
func (s *Stream) reread() error {
	stamp := s.rest.stamp
	s.scanned = stamp - 1
	err := s.open(max(stamp, s.store.Engine().Order().Safe()))
	s.scanned = stamp
	if err != nil {
		return err
	}
	if !s.it.First() {
		err := s.it.Err()
		s.closeLog()
		return cmp.Or(err, errHistoryLost())
	}
	value, err := s.it.Value()
	if err != nil {
		return err
	}
	entry := bsonx.Doc(value)
	if storage.NewStamp(entry.Lookup("ts").Timestamp()) != stamp {
		return errHistoryLost()
	}
	s.rest.read(entry, entry.Lookup("o").Doc().Lookup("applyOps").Doc())
	return nil
}
