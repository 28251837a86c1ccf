package pebble

import (
	"encoding/binary"

	"github.com/sheafdb/sheaf/internal/storage"
)

// stampedWrite is a write whose stamp is not known before the commit.
type stampedWrite struct {
	// keyAt and valueAt are the offsets of the stamp in the batch: in the key and in the value.
	// valueAt is -1 if the value has no stamp. prefix is the number of key bytes before the stamp.
	keyAt, valueAt, prefix int
}

// key returns the whole key, in the batch.
func (w stampedWrite) key(batch []byte) []byte {
	return batch[w.keyAt-w.prefix : w.keyAt+storage.StampSize]
}

// Order implements storage.Engine.
func (e *Engine) Order() *storage.Order { return &e.order }

// PutStamped implements storage.Txn.
func (t *txn) PutStamped(prefix, value []byte, at int, least storage.Stamp) error {
	s, err := t.writable()
	if err != nil {
		return err
	}
	op := s.batch.SetDeferred(len(prefix)+storage.StampSize, len(value))
	copy(op.Key, prefix)
	clear(op.Key[len(prefix):])
	copy(op.Value, value)
	if err := op.Finish(); err != nil {
		return s.engine.wrap(err)
	}
	// The record ends with | key | length of the value | value |.
	valueAt := s.batch.Len() - len(value)
	w := stampedWrite{keyAt: valueAt - uvarintLen(len(value)) - storage.StampSize, valueAt: -1, prefix: len(prefix)}
	if at >= 0 {
		w.valueAt = valueAt + at
	}
	s.stamped = append(s.stamped, w)
	s.least = max(s.least, least)
	s.bytes += len(prefix) + storage.StampSize + len(value)
	s.putBytes += len(value)
	return nil
}

// Stamp implements storage.Txn.
func (t *txn) Stamp() storage.Stamp { return t.stamp }

// stampWrites takes stamps and writes them into the batch. It returns the first and the last stamp.
func (s *txnState) stampWrites(batch []byte) (first, last storage.Stamp) {
	first = s.engine.order.Begin(s.least, len(s.stamped))
	last = first
	for i, w := range s.stamped {
		last = first + storage.Stamp(i)
		binary.BigEndian.PutUint64(batch[w.keyAt:], uint64(last))
		if w.valueAt >= 0 {
			binary.LittleEndian.PutUint64(batch[w.valueAt:], uint64(last))
		}
	}
	return first, last
}
