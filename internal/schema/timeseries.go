package schema

import (
	"cmp"
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/table"
	"github.com/sheafdb/sheaf/internal/timeseries"
)

// A time-series collection consists of two catalog entries that are created and dropped together:
// an entry with its name and without records, and the collection of its buckets.

// CreateTimeseries creates a time-series collection and returns its collection of buckets. indexes
// are the specifications of the first indexes on the buckets. It fails with NamespaceExists if the
// name is taken.
func CreateTimeseries(s *table.Store, db, name string, options bsonx.Doc,
	indexes ...bsonx.Doc,
) (*table.Collection, error) {
	if err := s.CheckNew(db, name); err != nil {
		return nil, err
	}
	if n := len(db) + 1 + len(timeseries.BucketsName(name)); n > limits.NamespaceBytes {
		return nil, mongoerr.New(mongoerr.InvalidNamespace, "Fully qualified namespace is too long. Namespace: %s.%s Max: %d",
			db, timeseries.BucketsName(name), limits.NamespaceBytes)
	}
	s.Interleaved()
	var buckets *table.Entry
	err := s.Define(mirrored(func(ch *table.CatalogChange) error {
		if ch.Lookup(db, name) != nil || ch.Lookup(db, timeseries.BucketsName(name)) != nil {
			return mongoerr.New(mongoerr.NamespaceExists, "Collection %s.%s already exists.", db, name)
		}
		if err := s.Catalog().CheckNewDatabase(db); err != nil {
			return err
		}
		buckets = table.NewEntry(ch.NewID, db, timeseries.BucketsName(name),
			catalog.KindCollection, bucketOptions(options))
		for _, spec := range indexes {
			ix := catalog.NewIndex(ch.NewID(), spec.Clone())
			table.MarkReady(ix)
			buckets.Indexes = append(buckets.Indexes, ix)
		}
		ch.Put(buckets)
		ch.Put(table.NewEntry(ch.NewID, db, name, catalog.KindTimeseries, options))
		if err := logCreate(s, ch, buckets); err != nil {
			return err
		}
		return logIndexes(s, ch, buckets, buckets.Indexes)
	}))
	if err != nil {
		return nil, err
	}
	return buckets.Attached, nil
}

// withBuckets returns a collection. For a time-series collection it adds the bucket collection, and
// for a bucket collection it adds the time-series collection.
func withBuckets(s *table.Store, c *table.Collection) []*table.Collection {
	out := []*table.Collection{c}
	if other := s.Buckets(c); other != nil {
		out = append(out, other)
	}
	if other := s.OfBuckets(c); other != nil {
		out = append(out, other)
	}
	return out
}

// ModifyTimeseries changes a time-series collection and its buckets. Both get the options; the
// index belongs to the buckets. It fails with ErrChanged if either is not the newest version.
func ModifyTimeseries(s *table.Store, c, buckets *table.Collection, m *CollMod) error {
	return s.Change([]*table.Collection{c, buckets}, mirrored(func(ch *table.CatalogChange) error {
		if err := cmp.Or(c.Unchanged(), buckets.Unchanged()); err != nil {
			return err
		}
		if m.Options != nil {
			series := *c.Collection
			series.Options = m.Options.Clone()
			ch.Put(&series)
			onBuckets := *m
			onBuckets.Options = bucketOptions(m.Options)
			m = &onBuckets
		}
		entry := *buckets.Collection
		if err := apply(s, ch, &entry, m); err != nil {
			return err
		}
		ch.Put(&entry)
		return nil
	}))
}

// bucketOptions returns the options of the bucket collection of a time-series collection.
func bucketOptions(options bsonx.Doc) bsonx.Doc {
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	b.Bool("clusteredIndex", true)
	b.Fields(options)
	b.End()
	return b.Bytes()
}

// ReplaceTimeseries gives the time-series collection c the name of old and drops the collection
// that has the name. old is nil if the name was free when c was made. It fails with CommandFailed
// if the options or indexes of the collection with the name, or of its buckets, are not the
// ones that old and oldBuckets had.
func ReplaceTimeseries(s *table.Store, c *table.Collection, db, name string, old, oldBuckets *table.Collection) error {
	if err := s.CheckNew(db, name); err != nil {
		return err
	}
	return table.RetryOn(errTargetChanged, func() error {
		target := s.Lookup(db, name)
		return replaceTimeseries(s, c, target, name, func() error {
			return cmp.Or(
				SameDefinition(db, name, entryOf(old), entryOf(target)),
				SameDefinition(db, name, entryOf(oldBuckets), entryOf(s.Buckets(target))))
		})
	})
}

// entryOf returns the catalog entry of c, or nil if c is nil.
func entryOf(c *table.Collection) *table.Entry {
	if c == nil {
		return nil
	}
	return c.Collection
}

// replaceTimeseries renames both parts of c within its database. It drops both parts of target,
// which may be nil, if accept returns nil. It fails with errTargetChanged if target is not the
// newest version.
func replaceTimeseries(s *table.Store, c, target *table.Collection, name string, accept func() error) error {
	halves := withBuckets(s, c)
	colls := slices.Clone(halves)
	if target != nil {
		colls = append(colls, withBuckets(s, target)...)
	}
	return discard(s, colls, func(ch *table.CatalogChange) (garbage []catalog.Range, err error) {
		if entryOf(target) != ch.Lookup(c.DB, name) {
			return nil, errTargetChanged
		}
		if err := accept(); err != nil {
			return nil, err
		}
		for i, old := range colls {
			newest := s.Current(old)
			if newest == nil || newest.Namespace() != old.Namespace() {
				return nil, table.ErrDropped
			}
			ch.Remove(newest.Collection)
			if i >= len(halves) {
				garbage = append(garbage, newest.Ranges()...)
				continue
			}
			renamed := *newest.Collection
			renamed.Name = name
			if newest.Timeseries != nil {
				renamed.Name = timeseries.BucketsName(name)
			}
			replaced := ch.Lookup(c.DB, renamed.Name)
			if replaced != nil && !slices.ContainsFunc(colls,
				func(c *table.Collection) bool { return c.ID == replaced.ID }) {
				return nil, mongoerr.New(mongoerr.NamespaceExists, "target namespace exists")
			}
			ch.Put(&renamed)
			if newest.Timeseries != nil {
				if err := logRename(s, ch, newest.Collection, &renamed, replaced, false); err != nil {
					return nil, err
				}
			}
		}
		return garbage, nil
	})
}
