package table

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/index"
	"github.com/sheafdb/sheaf/internal/keystring"
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

// build completes indexes that the catalog has as not ready.
func (s *Store) build(ctx context.Context, c *Collection, names []string) error {
	if err := s.addExisting(ctx, c, names); err != nil {
		return err
	}
	if err := s.setState(c, names, func(ix *catalog.Index) { ix.Enforced = true }); err != nil {
		return err
	}
	for _, name := range names {
		if err := s.verifyUnique(ctx, c, name); err != nil {
			return err
		}
	}
	return s.setState(c, names, func(ix *catalog.Index) { ix.Ready = true })
}

func (s *Store) setState(c *Collection, names []string, set func(*catalog.Index)) error {
	err := s.modify(c, func(entry *catalog.Collection) error {
		for _, name := range names {
			err := replaceIndex(entry, name, func(ix *catalog.Index) *catalog.Index {
				changed := *ix
				set(&changed)
				return &changed
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if errors.Is(err, errNoIndex) {
		return mongoerr.New(mongoerr.IndexBuildAborted, "Index build aborted: the index was dropped")
	}
	return err
}

// addExisting writes the entries of all records.
func (s *Store) addExisting(ctx context.Context, c *Collection, names []string) error {
	next := c.RecordPrefix()
	for next != nil {
		if err := s.interrupted(ctx); err != nil {
			return err
		}
		after, err := s.addBatch(ctx, c, names, next)
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
		return ctx.Err()
	case <-s.stop:
		return mongoerr.New(mongoerr.InterruptedAtShutdown, "index build interrupted at shutdown")
	default:
		return nil
	}
}

// addBatch writes the entries of the records from a key on; it returns the key to go on from, or nil at the end.
func (s *Store) addBatch(ctx context.Context, c *Collection, names []string, from []byte) ([]byte, error) {
	w, err := s.BeginWrite(c)
	if err != nil {
		return nil, mongoerr.New(mongoerr.IndexBuildAborted, "Index build aborted: collection %s was dropped", c.Namespace())
	}
	defer w.Close()
	next, err := w.lockRecords(ctx, from)
	if err != nil {
		return nil, err
	}
	upper := next
	if upper == nil {
		upper = PrefixEnd(c.RecordPrefix())
	}
	it, err := w.txn.NewIter(from, upper)
	if err != nil {
		return nil, err
	}
	defer it.Close()
	for ok := it.First(); ok; ok = it.Next() {
		doc, err := it.Value()
		if err != nil {
			return nil, err
		}
		recordID := it.Key()[prefixLen:]
		w.setID(doc)
		for _, ix := range w.coll.Indexes {
			if !slices.Contains(names, ix.Name) {
				continue
			}
			if err := ix.generate(bsonx.Doc(doc), &w.keys); err != nil {
				return nil, err
			}
			if err := w.putEntries(ix, recordID); err != nil {
				return nil, err
			}
		}
	}
	if err := it.Err(); err != nil {
		return nil, err
	}
	return next, w.Commit(storage.Buffered)
}

// lockRecords locks the next records from a key on and returns the key of the first that it did not lock, or nil.
// A record that appears between them later was written by someone who maintains the index.
func (w *Writer) lockRecords(ctx context.Context, from []byte) ([]byte, error) {
	snap := w.store.engine.NewSnapshot()
	defer snap.Close()
	iter, err := snap.NewIter(from, PrefixEnd(w.coll.RecordPrefix()))
	if err != nil {
		return nil, err
	}
	defer iter.Close()
	n := 0
	for ok := iter.First(); ok; ok = iter.Next() {
		if n == buildBatch {
			return bytes.Clone(iter.Key()), nil
		}
		if err := w.txn.Lock(ctx, iter.Key()); err != nil {
			return nil, err
		}
		n++
	}
	return nil, iter.Err()
}

// verifyUnique walks the entries of a unique index and fails at the first two records with the same fields.
func (s *Store) verifyUnique(ctx context.Context, c *Collection, name string) error {
	newest := s.Current(c)
	if newest == nil {
		return mongoerr.New(mongoerr.IndexBuildAborted, "Index build aborted: collection %s was dropped", c.Namespace())
	}
	i := slices.IndexFunc(newest.Indexes, func(ix *Index) bool { return ix.Name == name })
	if i < 0 || !newest.Indexes[i].Unique {
		return nil
	}
	ix := newest.Indexes[i]
	snap := s.engine.NewSnapshot()
	defer snap.Close()
	it, err := snap.NewIter(ix.Prefix(), PrefixEnd(ix.Prefix()))
	if err != nil {
		return err
	}
	defer it.Close()
	var previous []byte
	for n, ok := 0, it.First(); ok; n, ok = n+1, it.Next() {
		if n%1024 == 0 {
			if err := s.interrupted(ctx); err != nil {
				return err
			}
		}
		size, err := ix.fieldsLen(it.Key())
		if err != nil {
			return err
		}
		fields := it.Key()[:size]
		if bytes.Equal(fields, previous) {
			value, err := it.Value()
			if err != nil {
				return err
			}
			bits, _, err := keystring.SplitTypeBits(value)
			if err != nil {
				return err
			}
			return duplicateKey(newest, ix, fields[prefixLen:], bits)
		}
		previous = append(previous[:0], fields...)
	}
	return it.Err()
}

// resumeBuilds begins the builds again that a crash or a shutdown interrupted.
func (s *Store) resumeBuilds() {
	for _, e := range s.catalog.All() {
		var names []string
		for _, ix := range e.Indexes {
			if !ix.Ready {
				names = append(names, ix.Name)
			}
		}
		if len(names) == 0 {
			continue
		}
		c := e.Attached.(*Collection)
		s.builds.Add(1)
		go func() {
			defer s.builds.Done()
			s.resumeBuild(c, names)
		}()
	}
}

func (s *Store) resumeBuild(c *Collection, names []string) {
	s.log.Info("index build resumed", "ns", c.Namespace(), "indexes", names)
	err := s.build(context.Background(), c, names)
	switch code := mongoerr.CodeOf(err); {
	case err == nil:
		s.log.Info("index build complete", "ns", c.Namespace(), "indexes", names)
	case code == mongoerr.InterruptedAtShutdown || code == mongoerr.IndexBuildAborted:
	default:
		s.log.Error("index build failed, index dropped", "ns", c.Namespace(), "indexes", names, "error", err)
		if err := s.DropIndexes(c, names...); err != nil {
			s.log.Error("drop of failed index", "ns", c.Namespace(), "error", err)
		}
	}
}

// decode returns the fields of an index key as a document with the pattern's names.
func (ix *Index) decode(key, typeBits []byte) (bsonx.Doc, error) {
	return index.DecodeKey(ix.Pattern, key, typeBits)
}
