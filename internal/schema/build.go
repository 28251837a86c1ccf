package schema

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/clock"
	"github.com/sheafdb/sheaf/internal/index"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/table"
)

// An index is built in steps, each durable, while writers go on:
//
//  1. The catalog gets the index, not ready. From now on every writer maintains its entries, so
//     that only records written before are missing. Duplicates of a unique index are not refused
//     yet.
//  2. The records are walked in batches. A batch locks its records, reads their newest versions and
//     writes their entries: an entry that a writer has just written is written again, to the same
//     effect.
//  3. The entries of a unique index are walked in order, and two of different records with the same
//     fields fail the build. Then the index becomes enforced: writers refuse duplicates. The second
//     walk finds those that came since the first. Without the first, writers would be refused
//     because of an index whose build is about to fail.
//  4. The index becomes ready.
//
// A crash leaves an index that is not ready; resumeBuilds begins it again.

// build completes indexes that the catalog has as not ready. They are named by their identifiers:
// one that was dropped meanwhile may have been followed by another of its name.
func build(ctx context.Context, s *table.Store, c *table.Collection, ids []uint32) error {
	if err := fillIndexes(ctx, s, c, ids); err != nil {
		return err
	}
	return setState(s, c, ids, table.MarkReady, func(ch *table.CatalogChange, entry *table.Entry) error {
		return logCreateIndexes(s, ch, entry, ids)
	})
}

// fillIndexes makes indexes complete that the catalog has as not ready, all but that mark.
func fillIndexes(ctx context.Context, s *table.Store, c *table.Collection, ids []uint32) error {
	if err := addExisting(ctx, s, c, ids); err != nil {
		return err
	}
	if err := verifyUnique(ctx, s, c, ids); err != nil {
		return err
	}
	if err := setState(s, c, ids, func(ix *catalog.Index) { ix.Enforced = true }, nil); err != nil {
		return err
	}
	return verifyUnique(ctx, s, c, ids)
}

// verifyUnique fails at the first two records that share a key of a unique index.
func verifyUnique(ctx context.Context, s *table.Store, c *table.Collection, ids []uint32) error {
	for _, id := range ids {
		if err := verifyIndex(ctx, s, c, id); err != nil {
			return err
		}
	}
	return nil
}

// reopenUnfilled marks the indexes as not ready that are complete without entries, because their
// type was not maintained when they were made. They are built with those whose build was
// interrupted.
func reopenUnfilled(s *table.Store) error {
	for _, e := range s.Catalog().All() {
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
		if err := setState(s, e.Attached, ids, unready, nil); err != nil {
			return err
		}
	}
	return nil
}

// setState changes indexes, and logs that with log, which may be nil.
func setState(s *table.Store,
	c *table.Collection, ids []uint32, set func(*catalog.Index), log func(*table.CatalogChange, *table.Entry) error,
) error {
	if s.Current(c) == nil {
		return abortedByDrop(c)
	}
	return modify(s, c, func(ch *table.CatalogChange, entry *table.Entry) error {
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
			return log(ch, entry)
		}
		return nil
	})
}

// errIndexDropped ends the build of an index that was dropped.
var errIndexDropped = mongoerr.New(mongoerr.IndexBuildAborted, "Index build aborted: the index was dropped")

func abortedByDrop(c *table.Collection) error {
	return mongoerr.New(mongoerr.IndexBuildAborted, "Index build aborted: collection %s was dropped", c.Namespace())
}

// WaitIndexes waits until none of the named indexes of a collection is being built.
func WaitIndexes(ctx context.Context, s *table.Store, c *table.Collection, names ...string) error {
	building := func(ix *table.Index) bool { return !ix.Ready && slices.Contains(names, ix.Name) }
	for {
		changed := c.Changed()
		current := s.Current(c)
		if current == nil || !slices.ContainsFunc(current.Indexes, building) {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-s.Stopping():
			return errShutdown
		}
	}
}

// addExisting writes the entries of all records. While the entries of some are made the next ones
// are locked, so that all processors have a part: the keys of a text or of a place are more work
// than what is written.
func addExisting(ctx context.Context, s *table.Store, c *table.Collection, ids []uint32) error {
	group, failed := errgroup.WithContext(context.WithoutCancel(ctx))
	group.SetLimit(runtime.GOMAXPROCS(0))
	var mu sync.Mutex
	var again []*buildStep // those that waited for a writer that waited for them
	err := eachBatch(ctx, s, c, ids, c.RecordPrefix(), nil, func(b *buildStep) error {
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
		if err := eachBatch(ctx, s, c, ids, b.from, b.next, (*buildStep).fill); err != nil {
			return err
		}
	}
	return nil
}

// eachBatch locks the records between two keys, a batch after the other, and calls fn with each,
// again where there is a conflict. An upper bound of nil is that of the collection.
func eachBatch(ctx context.Context, s *table.Store, c *table.Collection, ids []uint32, from, until []byte,
	fn func(*buildStep) error,
) error {
	for from != nil && (until == nil || bytes.Compare(from, until) < 0) {
		if err := interrupted(ctx, s); err != nil {
			return err
		}
		b, err := lockBatch(ctx, s, c, ids, from)
		if err == nil {
			err = fn(b)
		}
		switch {
		// renamed just now, or dropped, which the next step sees
		case errors.Is(err, storage.ErrConflict), errors.Is(err, table.ErrDropped):
		case err != nil:
			return err
		default:
			from = b.next
		}
	}
	return nil
}

func interrupted(ctx context.Context, s *table.Store) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-s.Stopping():
		return errShutdown
	default:
		return nil
	}
}

var errShutdown = mongoerr.New(mongoerr.InterruptedAtShutdown, "index build interrupted at shutdown")

// buildStep is a batch of records that are locked.
type buildStep struct {
	w       *table.Writer
	indexes []*table.Index
	locked  [][]byte
	// from and next are the keys that the batch begins with, and that the next one begins with, nil
	// at the end.
	from, next []byte
}

// lockBatch locks the records from a key on.
func lockBatch(ctx context.Context, s *table.Store, c *table.Collection, ids []uint32,
	from []byte,
) (_ *buildStep, err error) {
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
	b := &buildStep{w: w, from: from}
	for _, id := range ids {
		if ix := w.Collection().IndexByID(id); ix != nil {
			b.indexes = append(b.indexes, ix)
		}
	}
	if len(b.indexes) < len(ids) {
		return nil, errIndexDropped
	}
	b.locked, b.next, err = w.LockRecords(ctx, from)
	return b, err
}

// fill writes the entries of the batch.
func (b *buildStep) fill() error {
	defer b.w.Close()
	var batch table.EntryBatch
	for _, key := range b.locked {
		if err := batch.Add(b.w, b.indexes, key); err != nil {
			return err
		}
	}
	if err := batch.Write(b.w); err != nil {
		return err
	}
	return b.w.Commit(storage.Buffered)
}

// resumeBuilds begins the builds again that a crash or a shutdown interrupted.
func resumeBuilds(s *table.Store) {
	for _, e := range s.Catalog().All() {
		var ids []uint32
		var names []string
		for _, ix := range e.Indexes {
			if !ix.Ready && !table.IsRebuild(ix.Name) { // dropRebuilds may have had no space
				ids = append(ids, ix.ID)
				names = append(names, ix.Name)
			}
		}
		if len(ids) == 0 {
			continue
		}
		c := e.Attached
		s.Background(func() { resumeBuild(s, c, ids, names) })
	}
}

// dropRebuilds removes the indexes of rebuilds that were interrupted: those that they were to
// replace are complete.
func dropRebuilds(s *table.Store) error {
	for _, e := range s.Catalog().All() {
		c := e.Attached
		if len(c.Rebuilds()) == 0 {
			continue
		}
		if err := dropIndexes(s, c, func(ix *table.Index) bool { return table.IsRebuild(ix.Name) }); err != nil {
			return err
		}
	}
	return nil
}

// pauseForMemory is how long a build that was resumed waits for memory that requests hold, at
// first. A disk may be full for days: up to pauseForSpace the wait doubles.
const (
	pauseForMemory = time.Second
	pauseForSpace  = time.Minute
)

// hasToWait reports whether a build failed by what will pass.
func hasToWait(err error) bool {
	return mongoerr.CodeOf(err) == mongoerr.ExceededMemoryLimit || errors.Is(err, storage.ErrNoSpace)
}

// pause waits a little. It reports false at the end of the store.
func pause(s *table.Store, d time.Duration) bool {
	over, timer := clock.NewTimer(clock.System{}, d)
	defer timer.Stop()
	select {
	case <-over:
		return true
	case <-s.Stopping():
		return false
	}
}

func resumeBuild(s *table.Store, c *table.Collection, ids []uint32, names []string) {
	s.Logger().Info("index build resumed", "ns", c.Namespace(), "indexes", names)
	err := build(context.Background(), s, c, ids)
	for wait := pauseForMemory; hasToWait(err) && pause(s, wait); wait = min(2*wait, pauseForSpace) {
		err = build(context.Background(), s, c, ids)
	}
	switch code := mongoerr.CodeOf(err); {
	case err == nil:
		s.Logger().Info("index build complete", "ns", c.Namespace(), "indexes", names)
	case code == mongoerr.InterruptedAtShutdown || code == mongoerr.IndexBuildAborted:
	default:
		s.Logger().Error("index build failed, index dropped", "ns", c.Namespace(), "indexes", names, "error", err)
		if err := dropUnbuilt(s, c, ids); err != nil {
			s.Logger().Error("drop of failed index", "ns", c.Namespace(), "error", err)
		}
	}
}
