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

// maxEntryBatch is how many bytes of entries are kept until they are written.
const maxEntryBatch = 4 << 20

// EntryBatch collects entries of an index that is built, to write them in order: the entries of a
// text index or of a wildcard go to all parts of it, and a search from the front for each of them
// is most of what a build would do.
type EntryBatch struct {
	buf     []byte
	entries []builtEntry
}

// builtEntry is where an entry stands in the buffer.
type builtEntry struct{ key, value, end int }

func (b *EntryBatch) add(key, value []byte) {
	e := builtEntry{key: len(b.buf)}
	b.buf = append(b.buf, key...)
	e.value = len(b.buf)
	b.buf = append(b.buf, value...)
	e.end = len(b.buf)
	b.entries = append(b.entries, e)
}

// size returns what the entries take in memory.
func (b *EntryBatch) size() int { return cap(b.buf) + builtEntryBytes*cap(b.entries) }

// builtEntryBytes is the size of a builtEntry.
const builtEntryBytes = 24

func (b *EntryBatch) isFull() bool { return len(b.buf) >= maxEntryBatch }

// Write writes the entries and forgets them.
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

// buildBatch is how many records a step locks at once. A writer that wants one of them waits for
// the step.
const buildBatch = 256

// buildBatchBytes is how large the records of a step are, at most, if they are several.
const buildBatchBytes = 4 << 20

// Add adds the entries of a record that the writer has locked; there may be no record any more.
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

// LockRecords locks the next records from a key on. It returns their keys and the key of the first
// that it did not lock, or nil. A record that appears between them later was written by someone who
// maintains the index, and is left alone: without its lock it could be deleted before its entries
// are written.
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
