package table

import (
	"bytes"
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

// entryWork is the cost of writing an index entry, without the length of its key. Its unit is the
// cost of one byte. Most of it is the search in the transaction's other changes.
const entryWork = 1 << 10

// did counts the work for an index entry with this key. It fails if the operation has ended.
func (w *Writer) did(key []byte) error { return w.work.Did(entryWork+len(key), &w.running) }

func (w *Writer) insertEntries(ctx context.Context, ix *Index, doc bsonx.Doc, recordID []byte) error {
	if err := ix.generate(doc, &w.keys); err != nil {
		return err
	}
	if ix.refusesDuplicates() && !w.replays {
		if err := w.checkUnique(ctx, ix, recordID, false); err != nil {
			return err
		}
	}
	return w.putEntries(ix, recordID)
}

// putEntries writes the entries in w.keys.
func (w *Writer) putEntries(ix *Index, recordID []byte) error {
	if err := w.holdKeys(); err != nil {
		return err
	}
	if err := w.growMultikey(ix); err != nil {
		return err
	}
	for i := range w.keys.Len() {
		if err := w.did(w.keys.Key(i)); err != nil {
			return err
		}
		if err := w.txn.Put(w.entryKey(ix, w.keys.Key(i), recordID), w.id.join(w.keys.TypeBits(i))); err != nil {
			return err
		}
	}
	return nil
}

// growMultikey extends the multikey paths of an index so that they cover w.keys.
func (w *Writer) growMultikey(ix *Index) error {
	if ix.coversPaths(&w.keys) {
		return nil
	}
	if w.multi != nil && w.multi.isOwn(w.coll) {
		return w.multi.growMultikey(ix, &w.keys)
	}
	return ix.growMultikey(w.store.engine, &w.keys)
}

// updateEntries deletes the entries that only old has and writes the entries that only doc has.
func (w *Writer) updateEntries(ctx context.Context, ix *Index, recordID []byte, old, doc bsonx.Doc) error {
	if err := ix.generate(old, &w.oldKeys); err != nil {
		return err
	}
	if err := ix.generate(doc, &w.keys); err != nil {
		return err
	}
	if err := w.holdKeys(); err != nil {
		return err
	}
	if err := w.growMultikey(ix); err != nil {
		return err
	}
	if ix.refusesDuplicates() && !w.replays {
		if err := w.checkUnique(ctx, ix, recordID, true); err != nil {
			return err
		}
	}
	i, j := 0, 0
	for i < w.oldKeys.Len() || j < w.keys.Len() {
		c := 0
		switch {
		case i == w.oldKeys.Len():
			c = 1
		case j == w.keys.Len():
			c = -1
		default:
			c = bytes.Compare(w.oldKeys.Key(i), w.keys.Key(j))
		}
		err := w.work.Did(entryWork, &w.running)
		switch {
		case err != nil:
		case c < 0:
			err = w.txn.Delete(w.entryKey(ix, w.oldKeys.Key(i), recordID))
			i++
		case c > 0:
			err = w.txn.Put(w.entryKey(ix, w.keys.Key(j), recordID), w.id.join(w.keys.TypeBits(j)))
			j++
		default:
			if !bytes.Equal(w.oldKeys.TypeBits(i), w.keys.TypeBits(j)) {
				err = w.txn.Put(w.entryKey(ix, w.keys.Key(j), recordID), w.id.join(w.keys.TypeBits(j)))
			}
			i++
			j++
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// checkUnique locks the values of w.keys in a unique index, and fails if another record has one of
// them. If skipOld is set, keys that are also in w.oldKeys are skipped: they belong to this record.
func (w *Writer) checkUnique(ctx context.Context, ix *Index, recordID []byte, skipOld bool) error {
	for i := range w.keys.Len() {
		key := w.keys.Key(i)
		if err := w.did(key); err != nil {
			return err
		}
		if skipOld && w.oldKeys.Has(key) {
			continue
		}
		w.bound = ix.entryKey(w.bound[:0], key, nil)
		if err := w.txn.Lock(ctx, w.bound); err != nil {
			return err
		}
		taken, err := w.takenByOther(recordID)
		if err != nil {
			return err
		}
		if taken {
			return DuplicateKey(w.coll, ix, key, w.keys.TypeBits(i))
		}
	}
	return nil
}

// takenByOther reports whether a record other than recordID has an entry with the field values in
// w.bound.
func (w *Writer) takenByOther(recordID []byte) (bool, error) {
	n := len(w.bound)
	w.bound = append(w.bound, w.bound...)
	w.bound = append(w.bound, 0xFF)
	it, err := w.txn.NewIter(w.bound[:n], w.bound[n:])
	if err != nil {
		return false, err
	}
	defer it.Close()
	for ok := it.First(); ok; ok = it.Next() {
		if !bytes.Equal(it.Key()[n:], recordID) {
			return true, nil
		}
	}
	return false, it.Err()
}

// entryKey returns the key of an entry. It is valid until the next call.
func (w *Writer) entryKey(ix *Index, fields, recordID []byte) []byte {
	w.entry = ix.entryKey(w.entry[:0], fields, recordID)
	return w.entry
}
