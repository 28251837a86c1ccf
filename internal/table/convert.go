package table

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/storage"
)

// A copy of a collection is filled before the catalog has it: its storage is garbage until the change of the catalog
// that makes it appear, so that a crash leaves nothing behind.

// copyBatch bounds a transaction of a copy.
const (
	copyBatchRecords = 512
	copyBatchBytes   = 4 << 20
)

// Convert replaces a collection by one with other options, without its indexes. Writers wait meanwhile. Where the options
// are those of a capped collection, the newest documents stay.
func (s *Store) Convert(ctx context.Context, c *Collection, options bsonx.Doc) error {
	if s.isLive(c) {
		return errLiveOplog("convert the")
	}
	c.shared.gate.Lock()
	defer c.shared.gate.Unlock()
	newest := c.shared.current.Load()
	if newest == nil {
		return mongoerr.New(mongoerr.NamespaceNotFound, "source collection %s does not exist", c.Namespace())
	}
	garbage := newest.ranges()
	err := s.copyRecords(ctx, newest, newest.DB, newest.Name, options, func(ch *catalog.Change) error {
		ch.Remove(newest.Collection)
		if err := s.logDrop(ch, newest); err != nil {
			return err
		}
		return remember(ch, garbage)
	})
	if err != nil {
		return err
	}
	c.shared.publish(nil)
	if c.Capped != nil {
		c.shared.capped.arrivals.announce()
	}
	s.sweep(garbage)
	return nil
}

// Clone makes a collection with a copy of the documents of another one. It fails with NamespaceExists where the name is
// taken.
func (s *Store) Clone(ctx context.Context, c *Collection, db, name string, options bsonx.Doc) error {
	if err := checkNew(db, name); err != nil {
		return err
	}
	return s.copyRecords(ctx, c, db, name, options, func(ch *catalog.Change) error {
		if ch.Lookup(db, name) != nil {
			return mongoerr.New(mongoerr.NamespaceExists, "Collection %s.%s already exists.", db, name)
		}
		return s.catalog.CheckNewDatabase(db)
	})
}

// copyRecords fills a new collection with the records of c and lets the catalog have it, in one change with fn.
func (s *Store) copyRecords(ctx context.Context, c *Collection, db, name string, options bsonx.Doc, fn func(*catalog.Change) error) error {
	var entry *catalog.Collection
	var ranges []catalog.Range
	err := s.catalog.Update(func(ch *catalog.Change) error {
		entry = newEntry(ch.NewID, db, name, catalog.KindCollection, options)
		attached, err := s.attach(entry, nil)
		if err != nil {
			return err
		}
		entry.Attached = attached
		ranges = attached.(*Collection).ranges()
		return remember(ch, ranges)
	})
	if err != nil {
		return err
	}
	err = s.fill(ctx, entry.Attached.(*Collection), c)
	if err == nil {
		err = s.catalog.Update(func(ch *catalog.Change) error {
			if err := fn(ch); err != nil {
				return err
			}
			for _, r := range ranges {
				if err := ch.Keep(r); err != nil {
					return err
				}
			}
			ch.Put(entry)
			return nil
		})
	}
	if err != nil {
		s.sweep(ranges)
	}
	return err
}

// fill copies the records of a snapshot of from.
func (s *Store) fill(ctx context.Context, to, from *Collection) error {
	snap := s.engine.NewSnapshot()
	defer snap.Close()
	it, err := snap.NewIter(from.RecordPrefix(), PrefixEnd(from.RecordPrefix()))
	if err != nil {
		return err
	}
	defer it.Close()
	for ok := it.First(); ok; {
		if ok, err = s.fillBatch(ctx, to, it); err != nil {
			return err
		}
	}
	return it.Err()
}

// fillBatch copies some records from an iterator on and reports whether it stands at another one.
func (s *Store) fillBatch(ctx context.Context, to *Collection, it storage.Iterator) (more bool, err error) {
	if err := s.interrupted(ctx); err != nil {
		return false, err
	}
	w, err := s.BeginWrite(to)
	if err != nil {
		return false, err
	}
	defer w.Close()
	more = true
	for n := 0; more && n < copyBatchRecords && w.Bytes() < copyBatchBytes; n++ {
		doc, err := it.Value()
		if err != nil {
			return false, err
		}
		if err := w.Insert(ctx, bsonx.Doc(doc)); err != nil {
			return false, err
		}
		more = it.Next()
	}
	return more, w.Commit(storage.Buffered)
}
