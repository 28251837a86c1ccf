package table

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/index"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/storage"
)

// An index is built in steps, each durable, while writers go on:
//
//  1. The catalog gets the index, not ready. From now on every writer maintains its entries, so that only records
//     written before are missing. Duplicates of a unique index are not refused yet.
//  2. The records are walked in batches. A batch locks its records, reads their newest versions and writes their
//     entries: an entry that a writer has just written is written again, to the same effect.
//  3. A unique index becomes enforced: writers refuse duplicates. Then its entries are walked in order, and two of
//     different records with the same fields fail the build.
//  4. The index becomes ready.
//
// A crash leaves an index that is not ready; resumeBuilds begins it again.

// buildBatch is how many records a step locks at once. A writer that wants one of them waits for the step.
const buildBatch = 256

// build completes indexes that the catalog has as not ready. They are named by their identifiers: one that was dropped
// meanwhile may have been followed by another of its name.
func (s *Store) build(ctx context.Context, c *Collection, ids []uint32) error {
	if err := s.addExisting(ctx, c, ids); err != nil {
		return err
	}
	if err := s.setState(c, ids, func(ix *catalog.Index) { ix.Enforced = true }, nil); err != nil {
		return err
	}
	for _, id := range ids {
		if err := s.verifyUnique(ctx, c, id); err != nil {
			return err
		}
	}
	return s.setState(c, ids, markReady, s.logCreateIndexes)
}

// markReady makes an index a complete one.
func markReady(ix *catalog.Index) { ix.Ready, ix.Enforced, ix.Filled = true, true, true }

// reopenUnfilled marks the indexes as not ready that are complete without entries, because their type was not maintained when
// they were made. They are built with those whose build was interrupted.
func (s *Store) reopenUnfilled() error {
	for _, e := range s.catalog.All() {
		var ids []uint32
		for _, ix := range e.Indexes {
			if ix.Ready && !ix.Filled && index.KindOf(ix.Key) != index.Ordered {
				ids = append(ids, ix.ID)
			}
		}
		if len(ids) == 0 {
			continue
		}
		unready := func(ix *catalog.Index) { ix.Ready, ix.Enforced = false, false }
		if err := s.setState(e.Attached.(*Collection), ids, unready, nil); err != nil {
			return err
		}
	}
	return nil
}

// setState changes indexes, and logs that with log, which may be nil.
func (s *Store) setState(
	c *Collection, ids []uint32, set func(*catalog.Index), log func(*catalog.Change, *catalog.Collection, []uint32) error,
) error {
	if s.Current(c) == nil {
		return abortedByDrop(c)
	}
	return s.modify(c, func(ch *catalog.Change, entry *catalog.Collection) error {
		entry.Indexes = slices.Clone(entry.Indexes)
		for _, id := range ids {
			i := slices.IndexFunc(entry.Indexes, func(ix *catalog.Index) bool { return ix.ID == id })
			if i < 0 {
				return errIndexDropped
			}
			changed := *entry.Indexes[i]
			set(&changed)
			entry.Indexes[i] = &changed
		}
		if log != nil {
			return log(ch, entry, ids)
		}
		return nil
	})
}

// errIndexDropped ends the build of an index that was dropped.
var errIndexDropped = mongoerr.New(mongoerr.IndexBuildAborted, "Index build aborted: the index was dropped")

func abortedByDrop(c *Collection) error {
	return mongoerr.New(mongoerr.IndexBuildAborted, "Index build aborted: collection %s was dropped", c.Namespace())
}

// WaitIndexes waits until none of the named indexes of a collection is being built.
func (s *Store) WaitIndexes(ctx context.Context, c *Collection, names ...string) error {
	building := func(ix *Index) bool { return !ix.Ready && slices.Contains(names, ix.Name) }
	for {
		changed := c.shared.changed()
		current := s.Current(c)
		if current == nil || !slices.ContainsFunc(current.Indexes, building) {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-s.stop:
			return errShutdown
		}
	}
}

// addExisting writes the entries of all records.
func (s *Store) addExisting(ctx context.Context, c *Collection, ids []uint32) error {
	next := c.RecordPrefix()
	for next != nil {
		if err := s.interrupted(ctx); err != nil {
			return err
		}
		after, err := s.addBatch(ctx, c, ids, next)
		if errors.Is(err, storage.ErrConflict) {
			continue // a writer and this batch waited for each other
		}
		if err != nil {
			return err
		}
		next = after
	}
	return nil
}

func (s *Store) interrupted(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-s.stop:
		return errShutdown
	default:
		return nil
	}
}

var errShutdown = mongoerr.New(mongoerr.InterruptedAtShutdown, "index build interrupted at shutdown")

// addBatch writes the entries of the records from a key on; it returns the key to go on from, or nil at the end.
func (s *Store) addBatch(ctx context.Context, c *Collection, ids []uint32, from []byte) ([]byte, error) {
	current := s.Current(c) // under the name that it has by now
	if current == nil {
		return nil, abortedByDrop(c)
	}
	w, err := s.BeginWrite(current)
	if errors.Is(err, ErrDropped) {
		return from, nil // renamed just now, or dropped, which the next step sees
	}
	if err != nil {
		return nil, err
	}
	defer w.Close()
	var indexes []*Index
	for _, ix := range w.coll.Indexes {
		if slices.Contains(ids, ix.ID) {
			indexes = append(indexes, ix)
		}
	}
	if len(indexes) < len(ids) {
		return nil, errIndexDropped
	}
	locked, next, err := w.lockRecords(ctx, from)
	if err != nil {
		return nil, err
	}
	var batch entryBatch
	for _, key := range locked {
		if err := w.addEntries(indexes, key, &batch); err != nil {
			return nil, err
		}
	}
	if err := batch.write(w.txn); err != nil {
		return nil, err
	}
	return next, w.Commit(storage.Buffered)
}

// addEntries adds the entries of a record that the writer has locked to a batch; there may be none any more.
func (w *Writer) addEntries(indexes []*Index, recordKey []byte, batch *entryBatch) error {
	doc, closer, err := w.txn.Get(recordKey)
	if errors.Is(err, storage.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	defer closer.Close()
	w.setID(bsonx.Doc(doc))
	for _, ix := range indexes {
		if err := ix.generate(bsonx.Doc(doc), &w.keys); err != nil {
			return err
		}
		if err := w.growMultikey(ix); err != nil {
			return err
		}
		for i := range w.keys.Len() {
			batch.add(w.entryKey(ix, w.keys.Key(i), recordKey[prefixLen:]), w.id.join(w.keys.TypeBits(i)))
		}
	}
	if batch.isFull() {
		return batch.write(w.txn)
	}
	return nil
}

// lockRecords locks the next records from a key on. It returns their keys and the key of the first that it did not lock,
// or nil. A record that appears between them later was written by someone who maintains the index, and is left alone:
// without its lock it could be deleted before its entries are written.
func (w *Writer) lockRecords(ctx context.Context, from []byte) (locked [][]byte, next []byte, err error) {
	snap := w.store.engine.NewSnapshot()
	defer snap.Close()
	iter, err := snap.NewIter(from, PrefixEnd(w.coll.RecordPrefix()))
	if err != nil {
		return nil, nil, err
	}
	defer iter.Close()
	for ok := iter.First(); ok; ok = iter.Next() {
		key := bytes.Clone(iter.Key())
		if len(locked) == buildBatch {
			return locked, key, nil
		}
		if err := w.txn.Lock(ctx, key); err != nil {
			return nil, nil, err
		}
		locked = append(locked, key)
	}
	return locked, nil, iter.Err()
}

// resumeBuilds begins the builds again that a crash or a shutdown interrupted.
func (s *Store) resumeBuilds() {
	for _, e := range s.catalog.All() {
		var ids []uint32
		var names []string
		for _, ix := range e.Indexes {
			if !ix.Ready {
				ids = append(ids, ix.ID)
				names = append(names, ix.Name)
			}
		}
		if len(ids) == 0 {
			continue
		}
		c := e.Attached.(*Collection)
		s.builds.Add(1)
		go func() {
			defer s.builds.Done()
			s.resumeBuild(c, ids, names)
		}()
	}
}

func (s *Store) resumeBuild(c *Collection, ids []uint32, names []string) {
	s.log.Info("index build resumed", "ns", c.Namespace(), "indexes", names)
	err := s.build(context.Background(), c, ids)
	switch code := mongoerr.CodeOf(err); {
	case err == nil:
		s.log.Info("index build complete", "ns", c.Namespace(), "indexes", names)
	case code == mongoerr.InterruptedAtShutdown || code == mongoerr.IndexBuildAborted:
	default:
		s.log.Error("index build failed, index dropped", "ns", c.Namespace(), "indexes", names, "error", err)
		if err := s.dropUnbuilt(c, ids); err != nil {
			s.log.Error("drop of failed index", "ns", c.Namespace(), "error", err)
		}
	}
}

// decode returns the fields of an index key as a document with the pattern's names.
func (ix *Index) decode(key, typeBits []byte) (bsonx.Doc, error) {
	return index.DecodeKey(ix.Pattern, key, typeBits)
}
