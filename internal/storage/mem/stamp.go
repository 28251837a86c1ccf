package mem

import (
	"bytes"
	"encoding/binary"

	"github.com/sheafdb/sheaf/internal/storage"
)

// stampedWrite is a write whose stamp is not known before the commit.
type stampedWrite struct {
	prefix, value []byte
	at            int
}

// Order implements storage.Engine.
func (e *Engine) Order() *storage.Order { return &e.order }

// PutStamped implements storage.Txn.
func (t *txn) PutStamped(prefix, value []byte, at int, least storage.Stamp) error {
	if err := t.check(); err != nil {
		return err
	}
	t.changes++
	t.bytes += len(prefix) + storage.StampSize + len(value)
	t.stamped = append(t.stamped, stampedWrite{prefix: bytes.Clone(prefix), value: cloneValue(value), at: at})
	t.least = max(t.least, least)
	return nil
}

// Stamp implements storage.Txn.
func (t *txn) Stamp() storage.Stamp { return t.stamp }

// putStamped gives stamps to the stamped writes of a transaction, and puts them into the tree. The
// caller holds the lock of the engine.
func (t *txn) putStamped() {
	if len(t.stamped) == 0 {
		return
	}
	first := t.engine.order.Begin(t.least, len(t.stamped))
	for i, w := range t.stamped {
		t.stamp = first + storage.Stamp(i)
		if w.at >= 0 {
			binary.LittleEndian.PutUint64(w.value[w.at:], uint64(t.stamp))
		}
		t.engine.stats.DataBytes += set(t.engine.tree,
			item{key: binary.BigEndian.AppendUint64(w.prefix, uint64(t.stamp)), value: w.value})
	}
	t.engine.order.End(first)
}
