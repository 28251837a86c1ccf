package schema

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/keyspace"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/table"
)

// A copy of a collection is filled under a temporary name like any other collection, so the oplog
// has an entry for each of its documents. Then the copy replaces the original in one change of the
// catalog. If a crash leaves a copy behind, the store drops it when it opens.

// copyBatchRecords and copyBatchBytes limit the size of one transaction of a copy.
const (
	copyBatchRecords = 512
	copyBatchBytes   = 4 << 20
)

// Convert replaces a collection by a copy with other options and without its indexes. Writers wait
// meanwhile. If the new options make the collection capped, the newest documents are kept. Convert
// fails with ErrChanged if c is not the newest version, because the options were derived from an
// older one.
func Convert(ctx context.Context, s *table.Store, c *table.Collection, options bsonx.Doc) error {
	if s.IsLive(c) {
		return errLiveOplog("convert the")
	}
	s.Interleaved()
	defer c.KeepOut()()
	if err := c.Unchanged(); err != nil {
		return err
	}
	to, err := Create(s, c.DB, convertedPrefix+rand.Text(), catalog.KindCollection, options)
	if err != nil {
		return err
	}
	total, err := s.Count(c)
	if err == nil {
		err = fill(ctx, s, to, c, total)
	}
	if err == nil {
		err = replace(s, c, to)
	}
	return copied(s, to, err)
}

// copied drops a copy that failed with err, and returns the error. If another client dropped the
// copy, as dropDatabase does, the error is ErrChanged.
func copied(s *table.Store, to *table.Collection, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, table.ErrDropped) {
		err = fmt.Errorf("%w: %w",
			mongoerr.New(mongoerr.NamespaceNotFound, "the copy %s was dropped", to.Namespace()), table.ErrChanged)
	}
	if dropErr := Drop(s, to); mongoerr.CodeOf(dropErr) != mongoerr.NamespaceNotFound {
		err = errors.Join(err, dropErr)
	}
	return err
}

// replace drops the collection c and gives its name to another collection. The caller blocks the
// writers of c.
func replace(s *table.Store, c, by *table.Collection) error {
	defer by.KeepOut()()
	newest := s.Current(by)
	if newest == nil || newest.Namespace() != by.Namespace() {
		return table.ErrDropped
	}
	garbage := c.Ranges()
	renamed := *newest.Collection
	renamed.Name = c.Name
	err := s.ChangeHeld(mirrored(func(ch *table.CatalogChange) error {
		ch.Remove(c.Collection)
		ch.Remove(newest.Collection)
		ch.Put(&renamed)
		if err := logRename(s, ch, newest.Collection, &renamed, c.Collection, false); err != nil {
			return err
		}
		return remember(ch, garbage)
	}))
	if err != nil {
		return err
	}
	sweep(s, garbage)
	return nil
}

// Clone creates a collection with a copy of the documents of c, without its indexes. The copy gets
// its name when it is complete. Clone fails with NamespaceExists if the name is taken, and with
// ErrChanged if c is not the newest version.
func Clone(ctx context.Context, s *table.Store, c *table.Collection, db, name string, options bsonx.Doc) error {
	if s.Lookup(db, name) != nil {
		if err := c.Unchanged(); err != nil {
			return err
		}
		return mongoerr.New(mongoerr.NamespaceExists, "Collection %s.%s already exists.", db, name)
	}
	to, err := Create(s, db, convertedPrefix+rand.Text(), catalog.KindCollection, options)
	if err != nil {
		return err
	}
	err = fill(ctx, s, to, c, storage.Counter{})
	if err == nil {
		err = RenameOver(s, to, db, name, true, Droppable(false))
	}
	if mongoerr.CodeOf(err) == mongoerr.NamespaceExists {
		err = cmp.Or(c.Unchanged(), err)
	}
	return copied(s, to, err)
}

// fill copies the records of a snapshot of from. It skips the oldest records if a capped collection
// would evict them again. total is the number and the size of the records of from, or zero if they
// are not known. Then no record is skipped.
func fill(ctx context.Context, s *table.Store, to, from *table.Collection, total storage.Counter) error {
	snap := s.Engine().NewSnapshot()
	defer snap.Close()
	if err := from.Unchanged(); err != nil { // otherwise the snapshot may be newer than a drop of the collection
		return err
	}
	it, err := snap.NewIter(from.RecordPrefix(), keyspace.PrefixEnd(from.RecordPrefix()))
	if err != nil {
		return err
	}
	defer it.Close()
	more := it.First()
	for more && total.Count > 1 && to.Capped != nil && to.Capped.Exceeded(total) {
		if total.Count%copyBatchRecords == 0 {
			if err := interrupted(ctx, s); err != nil {
				return err
			}
		}
		doc, err := it.Value()
		if err != nil {
			return err
		}
		total.Count--
		total.Bytes -= int64(len(doc))
		more = it.Next()
	}
	for more {
		if more, err = fillBatch(ctx, s, to, it); err != nil {
			return err
		}
	}
	return it.Err()
}

// fillBatch copies some records, beginning at the iterator's position. It reports whether there are
// more.
func fillBatch(ctx context.Context, s *table.Store, to *table.Collection, it storage.Iterator) (more bool, err error) {
	if err := interrupted(ctx, s); err != nil {
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
