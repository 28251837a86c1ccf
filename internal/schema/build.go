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

// An index is built in steps while writers continue. Each change of the catalog is durable:
//
//  1. The catalog gets the index, not ready. From now on every writer maintains its entries, so
//     that only the entries of earlier records are missing. Duplicates in a unique index are not
//     refused yet.
//  2. The records are read in batches. A batch locks its records, reads their newest versions and
//     writes their entries. An entry that a writer has just written is written again, which changes
//     nothing.
//  3. The entries of a unique index are read in order. If two records have the same fields, the
//     build fails. Otherwise the index becomes enforced: writers refuse duplicates. A second pass
//     finds duplicates that were written since the first pass. Without the first pass, writers
//     would be refused because of an index whose build is about to fail.
//  4. The index becomes ready.
//
// A crash leaves an index that is not ready; resumeBuilds starts its build again.

// build completes indexes that are not ready in the catalog. It names them by identifier, because
// an index may have been dropped meanwhile and another created with its name.
func build(ctx context.Context, s *table.Store, c *table.Collection, ids []uint32) error {
	if err := fillIndexes(ctx, s, c, ids); err != nil {
		return err
	}
	return setState(s, c, ids, table.MarkReady, func(ch *table.CatalogChange, entry *table.Entry) error {
		return logCreateIndexes(s, ch, entry, ids)
	})
}

// fillIndexes completes indexes that are not ready in the catalog, except that it does not mark
// them as ready.
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

// verifyUnique fails if two records have the same key of a unique index.
func verifyUnique(ctx context.Context, s *table.Store, c *table.Collection, ids []uint32) error {
	for _, id := range ids {
		if err := verifyIndex(ctx, s, c, id); err != nil {
			return err
		}
	}
	return nil
}

// reopenUnfilled marks indexes as not ready that are ready but have no entries, because an earlier
// version of the server did not maintain their type. They are then built together with the indexes
// whose build was interrupted.
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

// setState applies set to indexes in the catalog, and logs the change with log, which may be nil.
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

// WaitIndexes waits until no named index of the collection is being built. It returns nil if the
// collection was dropped.
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

// addExisting writes the entries of all existing records. While it generates the entries of some
// batches, it locks the next ones, so that all processors are used: generating the keys of a text
// or geo index takes more time than writing them.
func addExisting(ctx context.Context, s *table.Store, c *table.Collection, ids []uint32) error {
	group, failed := errgroup.WithContext(context.WithoutCancel(ctx))
	group.SetLimit(runtime.GOMAXPROCS(0))
	var again conflicts
	err := eachBatch(ctx, s, c, ids, c.RecordPrefix(), nil, func(b *buildStep) error {
		group.Go(func() error {
			err := b.fill()
			if errors.Is(err, storage.ErrConflict) {
				again.add(b)
				return nil
			}
			return err
		})
		return failed.Err()
	})
	if err := cmp.Or(group.Wait(), err); err != nil {
		return err
	}
	for _, b := range again.steps {
		if err := eachBatch(ctx, s, c, ids, b.from, b.next, (*buildStep).fill); err != nil {
			return err
		}
	}
	return nil
}

// conflicts collects the batches of a build that had a conflict with a writer.
type conflicts struct {
	mu    sync.Mutex
	steps []*buildStep
}

func (c *conflicts) add(b *buildStep) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.steps = append(c.steps, b)
}

// eachBatch locks the records between two keys, one batch after another, and calls fn with each
// batch. It repeats a batch after a conflict. A nil until means the end of the collection.
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
		// The collection was renamed just now, or dropped, which the next step notices.
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

// buildStep is a batch of locked records.
type buildStep struct {
	w       *table.Writer
	indexes []*table.Index
	locked  [][]byte
	// from is the key at which the batch begins. next is the key at which the next batch begins, or
	// nil at the end.
	from, next []byte
}

// lockBatch locks a batch of records that begins at the key from.
func lockBatch(ctx context.Context, s *table.Store, c *table.Collection, ids []uint32,
	from []byte,
) (_ *buildStep, err error) {
	current := s.Current(c) // the name may have changed
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

// resumeBuilds starts the builds again that a crash or a shutdown interrupted.
func resumeBuilds(s *table.Store) {
	for _, e := range s.Catalog().All() {
		var ids []uint32
		var names []string
		for _, ix := range e.Indexes {
			if !ix.Ready && !table.IsRebuild(ix.Name) { // dropRebuilds may have failed on a full disk
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

// dropRebuilds removes the unfinished indexes of interrupted rebuilds. The indexes that they were
// to replace are complete.
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

// pauseForMemory is how long a resumed build that lacks memory or disk space waits before it tries
// again. A disk may be full for days, so the wait doubles with each try, up to pauseForSpace.
const (
	pauseForMemory = time.Second
	pauseForSpace  = time.Minute
)

// hasToWait reports whether a build failed for a temporary reason.
func hasToWait(err error) bool {
	return mongoerr.CodeOf(err) == mongoerr.ExceededMemoryLimit || errors.Is(err, storage.ErrNoSpace)
}

// pause waits for d. It returns false if the store is closed meanwhile.
func pause(s *table.Store, d time.Duration) bool {
	over, timer := clock.NewTimer(s.Clock(), d)
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
