package table

import (
	"bytes"
	"context"
	"errors"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/keyspace"
	"github.com/sheafdb/sheaf/internal/storage"
)

// maxEntryBatch is the size of a full batch, in bytes of keys and values.
const maxEntryBatch = 4 << 20

// EntryBatch collects entries of an index that is being built, to write them in key order. The
// entries of a text or wildcard index are spread over the whole index. Without the order, searching
// the place of each entry would take most of the time of the build.
type EntryBatch struct {
	buf     []byte
	entries []builtEntry
}

// builtEntry holds the offsets of an entry in the buffer: the start of its key, the start of its
// value, and its end.
type builtEntry struct{ key, value, end int }

func (b *EntryBatch) add(key, value []byte) {
	e := builtEntry{key: len(b.buf)}
	b.buf = append(b.buf, key...)
	e.value = len(b.buf)
	b.buf = append(b.buf, value...)
	e.end = len(b.buf)
	b.entries = append(b.entries, e)
}

// size returns the memory that the batch takes, in bytes.
func (b *EntryBatch) size() int { return cap(b.buf) + builtEntryBytes*cap(b.entries) }

// builtEntryBytes is the size of a builtEntry in bytes.
const builtEntryBytes = 24

func (b *EntryBatch) isFull() bool { return len(b.buf) >= maxEntryBatch }

// Write writes the entries to w's transaction in key order and empties the batch.
func (b *EntryBatch) Write(w *Writer) error {
	byKey := func(x, y builtEntry) int { return bytes.Compare(b.buf[x.key:x.value], b.buf[y.key:y.value]) }
	if err := interrupt.SortUnstable(b.entries, interrupt.Step, byKey, &w.work, &w.running); err != nil {
		return err
	}
	for _, e := range b.entries {
		if err := w.did(b.buf[e.key:e.value]); err != nil {
			return err
		}
		if err := w.txn.Put(b.buf[e.key:e.value], b.buf[e.value:e.end]); err != nil {
			return err
		}
	}
	b.buf, b.entries = b.buf[:0], b.entries[:0]
	return nil
}

// buildBatch is the number of records that a step of a build locks together. A writer that needs
// one of them waits for the step.
const buildBatch = 256

// buildBatchBytes limits the size of the records of a step, in bytes. A step has at least one
// record.
const buildBatchBytes = 4 << 20

// Add adds the entries of a record, which w has locked, to the batch. It does nothing if the record
// does not exist any more.
func (b *EntryBatch) Add(w *Writer, indexes []*Index, recordKey []byte) error {
	doc, closer, err := w.txn.Get(recordKey)
	if errors.Is(err, storage.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	defer closer.Close()
	if err := w.setID(bsonx.Doc(doc)); err != nil {
		return err
	}
	for _, ix := range indexes {
		if err := ix.generate(bsonx.Doc(doc), &w.keys); err != nil {
			if w.running.Err() != nil || w.keys.Ended() != nil {
				return err
			}
			return &RefusedRecord{Err: err}
		}
		if err := w.growMultikey(ix); err != nil {
			return err
		}
		for i := range w.keys.Len() {
			if err := w.did(w.keys.Key(i)); err != nil {
				return err
			}
			b.add(w.entryKey(ix, w.keys.Key(i), recordKey[keyspace.PrefixLen:]), w.id.join(w.keys.TypeBits(i)))
		}
	}
	if !b.isFull() {
		return nil
	}
	if err := w.hold(w.keys.Size() + 2*b.size()); err != nil {
		return err
	}
	return b.Write(w)
}

// LockRecords locks the next records, beginning at the key from. It returns their keys, and the key
// of the first record that it did not lock, or nil at the end. It ignores records that appear in
// this range later: their writers maintain the index. Without its lock, such a record could be
// deleted before the build writes its entries.
func (w *Writer) LockRecords(ctx context.Context, from []byte) (locked [][]byte, next []byte, err error) {
	w.running.Set(ctx)
	snap := w.store.engine.NewSnapshot()
	defer snap.Close()
	iter, err := snap.NewIter(from, keyspace.PrefixEnd(w.coll.RecordPrefix()))
	if err != nil {
		return nil, nil, err
	}
	defer iter.Close()
	size := 0
	for ok := iter.First(); ok; ok = iter.Next() {
		key := bytes.Clone(iter.Key())
		if len(locked) == buildBatch || size > buildBatchBytes {
			return locked, key, nil
		}
		value, err := iter.Value()
		if err != nil {
			return nil, nil, err
		}
		size += len(value)
		if err := w.txn.Lock(ctx, key); err != nil {
			return nil, nil, err
		}
		locked = append(locked, key)
	}
	return locked, nil, iter.Err()
}
