package table

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

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
//  3. The entries of a unique index are walked in order, and two of different records with the same fields
//     fail the build. Then the index becomes enforced: writers refuse duplicates. The second walk finds those
//     that came since the first. Without the first, writers would be refused because of an index whose build
//     is about to fail.
//  4. The index becomes ready.
//
// A crash leaves an index that is not ready; resumeBuilds begins it again.

// buildBatch is how many records a step locks at once. A writer that wants one of them waits for the step.
const buildBatch = 256

// buildBatchBytes is how large the records of a step are, at most, if they are several.
const buildBatchBytes = 4 << 20

// build completes indexes that the catalog has as not ready. They are named by their identifiers: one that was dropped
// meanwhile may have been followed by another of its name.
func (s *Store) build(ctx context.Context, c *Collection, ids []uint32) error {
	if err := s.fillIndexes(ctx, c, ids); err != nil {
		return err
	}
	return s.setState(c, ids, markReady, s.logCreateIndexes)
}

// fillIndexes makes indexes complete that the catalog has as not ready, all but that mark.
func (s *Store) fillIndexes(ctx context.Context, c *Collection, ids []uint32) error {
	if err := s.addExisting(ctx, c, ids); err != nil {
		return err
	}
	if err := s.verifyUnique(ctx, c, ids); err != nil {
		return err
	}
	if err := s.setState(c, ids, func(ix *catalog.Index) { ix.Enforced = true }, nil); err != nil {
		return err
	}
	return s.verifyUnique(ctx, c, ids)
}

// verifyUnique fails at the first two records that share a key of a unique index.
func (s *Store) verifyUnique(ctx context.Context, c *Collection, ids []uint32) error {
	for _, id := range ids {
		if err := s.verifyIndex(ctx, c, id); err != nil {
			return err
		}
	}
	return nil
}

// refusedRecord is the error of a stored record that an index cannot have.
type refusedRecord struct{ err error }

func (r *refusedRecord) Error() string { return r.err.Error() }

func (r *refusedRecord) Unwrap() error { return r.err }

// buildFailed names the build and the collection in the error of a record that a new index cannot
// have, as MongoDB does. The log has the build under the same name. Other errors stay as they are.
func (s *Store) buildFailed(c *Collection, err error) error {
	var refused *refusedRecord
	if !errors.As(err, &refused) {
		return err
	}
	build := uuidText(NewUUID())
	s.log.Info("index build failed", "buildUUID", build, "ns", c.Namespace(), "error", err)
	return failedBuild(build, c, err)
}

func failedBuild(build string, c *Collection, err error) error {
	return mongoerr.Within(fmt.Sprintf("Index build failed: %s: Collection %s ( %s )", build, c.Namespace(), uuidText(c.UUID)), err)
}

// RefuseBuild names a build and the collection in the error of an index that cannot be built, as MongoDB
// does. It returns the error of an index on a collection that does not exist as it is.
func RefuseBuild(c *Collection, err error) error {
	if c.UUID == [16]byte{} {
		return err
	}
	return failedBuild(uuidText(NewUUID()), c, err)
}

// uuidText writes a UUID in its usual form.
func uuidText(id [16]byte) string {
	return fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
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

// addExisting writes the entries of all records. While the entries of some are made the next ones are locked, so that all processors
// have a part: the keys of a text or of a place are more work than what is written.
func (s *Store) addExisting(ctx context.Context, c *Collection, ids []uint32) error {
	group, failed := errgroup.WithContext(context.WithoutCancel(ctx))
	group.SetLimit(runtime.GOMAXPROCS(0))
	var mu sync.Mutex
	var again []*buildStep // those that waited for a writer that waited for them
	err := s.eachBatch(ctx, c, ids, c.RecordPrefix(), nil, func(b *buildStep) error {
		group.Go(func() error {
			err := b.fill()
			if errors.Is(err, storage.ErrConflict) {
				mu.Lock()
				defer mu.Unlock()
				again = append(again, b)
				return nil
			}
			return err
		})
		return failed.Err()
	})
	if err := cmp.Or(group.Wait(), err); err != nil {
		return err
	}
	for _, b := range again {
		if err := s.eachBatch(ctx, c, ids, b.from, b.next, (*buildStep).fill); err != nil {
			return err
		}
	}
	return nil
}

// eachBatch locks the records between two keys, a batch after the other, and calls fn with each, again where there is a conflict. An
// upper bound of nil is that of the collection.
func (s *Store) eachBatch(ctx context.Context, c *Collection, ids []uint32, from, until []byte, fn func(*buildStep) error) error {
	for from != nil && (until == nil || bytes.Compare(from, until) < 0) {
		if err := s.interrupted(ctx); err != nil {
			return err
		}
		b, err := s.lockBatch(ctx, c, ids, from)
		if err == nil {
			err = fn(b)
		}
		switch {
		case errors.Is(err, storage.ErrConflict), errors.Is(err, ErrDropped): // renamed just now, or dropped, which the next step sees
		case err != nil:
			return err
		default:
			from = b.next
		}
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

// buildStep is a batch of records that are locked.
type buildStep struct {
	w       *Writer
	indexes []*Index
	locked  [][]byte
	// from and next are the keys that the batch begins with, and that the next one begins with, nil at the end.
	from, next []byte
}

// lockBatch locks the records from a key on.
func (s *Store) lockBatch(ctx context.Context, c *Collection, ids []uint32, from []byte) (_ *buildStep, err error) {
	current := s.Current(c) // under the name that it has by now
	if current == nil {
		return nil, abortedByDrop(c)
	}
	w, err := s.BeginWrite(current)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			w.Close()
		}
	}()
	w.running.Set(ctx)
	b := &buildStep{w: w, from: from}
	for _, ix := range w.coll.maintained {
		if slices.Contains(ids, ix.ID) {
			b.indexes = append(b.indexes, ix)
		}
	}
	if len(b.indexes) < len(ids) {
		return nil, errIndexDropped
	}
	b.locked, b.next, err = w.lockRecords(ctx, from)
	return b, err
}

// fill writes the entries of the batch.
func (b *buildStep) fill() error {
	defer b.w.Close()
	var batch entryBatch
	for _, key := range b.locked {
		if err := b.w.addEntries(b.indexes, key, &batch); err != nil {
			return err
		}
	}
	if err := batch.write(b.w); err != nil {
		return err
	}
	return b.w.Commit(storage.Buffered)
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
	if err := w.setID(bsonx.Doc(doc)); err != nil {
		return err
	}
	for _, ix := range indexes {
		if err := ix.generate(bsonx.Doc(doc), &w.keys); err != nil {
			if w.running.Err() != nil || w.keys.Ended() != nil {
				return err
			}
			return &refusedRecord{err}
		}
		if err := w.growMultikey(ix); err != nil {
			return err
		}
		for i := range w.keys.Len() {
			if err := w.did(w.keys.Key(i)); err != nil {
				return err
			}
			batch.add(w.entryKey(ix, w.keys.Key(i), recordKey[prefixLen:]), w.id.join(w.keys.TypeBits(i)))
		}
	}
	if !batch.isFull() {
		return nil
	}
	if err := w.hold(w.keys.Size() + 2*batch.size()); err != nil {
		return err
	}
	return batch.write(w)
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

// resumeBuilds begins the builds again that a crash or a shutdown interrupted.
func (s *Store) resumeBuilds() {
	for _, e := range s.catalog.All() {
		var ids []uint32
		var names []string
		for _, ix := range e.Indexes {
			if !ix.Ready && !isRebuild(ix.Name) { // dropRebuilds may have had no space
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

// dropRebuilds removes the indexes of rebuilds that were interrupted: those that they were to replace are
// complete.
func (s *Store) dropRebuilds() error {
	for _, e := range s.catalog.All() {
		c := e.Attached.(*Collection)
		if len(c.rebuilds) == 0 {
			continue
		}
		if err := s.dropIndexes(c, func(ix *Index) bool { return isRebuild(ix.Name) }); err != nil {
			return err
		}
	}
	return nil
}

// pauseForMemory is how long a build that was resumed waits for memory that requests hold, at first. A disk may be full for
// days: up to pauseForSpace the wait doubles.
const (
	pauseForMemory = time.Second
	pauseForSpace  = time.Minute
)

// hasToWait reports whether a build failed by what will pass.
func hasToWait(err error) bool {
	return mongoerr.CodeOf(err) == mongoerr.ExceededMemoryLimit || errors.Is(err, storage.ErrNoSpace)
}

// pause waits a little. It reports false at the end of the store.
func (s *Store) pause(d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-s.stop:
		return false
	}
}

func (s *Store) resumeBuild(c *Collection, ids []uint32, names []string) {
	s.log.Info("index build resumed", "ns", c.Namespace(), "indexes", names)
	err := s.build(context.Background(), c, ids)
	for wait := pauseForMemory; hasToWait(err) && s.pause(wait); wait = min(2*wait, pauseForSpace) {
		err = s.build(context.Background(), c, ids)
	}
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
