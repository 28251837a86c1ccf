package table

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/timeseries"
)

// A time-series collection is two entries of the catalog, made and dropped together: one of its own name without records, and the
// collection of its buckets.

// CreateTimeseries makes a time-series collection and returns its buckets. indexes are the specifications of the first indexes on
// these. It fails with NamespaceExists where the name is taken.
func (s *Store) CreateTimeseries(db, name string, options bsonx.Doc, indexes ...bsonx.Doc) (*Collection, error) {
	if err := s.checkNew(db, name); err != nil {
		return nil, err
	}
	if n := len(db) + 1 + len(timeseries.BucketsName(name)); n > catalog.MaxNamespace {
		return nil, mongoerr.New(mongoerr.InvalidNamespace, "Fully qualified namespace is too long. Namespace: %s.%s Max: %d",
			db, timeseries.BucketsName(name), catalog.MaxNamespace)
	}
	var buckets *catalog.Collection
	err := s.define(s.catalog.Update, func(ch *catalog.Change) error {
		if ch.Lookup(db, name) != nil || ch.Lookup(db, timeseries.BucketsName(name)) != nil {
			return mongoerr.New(mongoerr.NamespaceExists, "Collection %s.%s already exists.", db, name)
		}
		if err := s.catalog.CheckNewDatabase(db); err != nil {
			return err
		}
		clustered := bsonx.NewBuilder(nil)
		clustered.StartDoc()
		clustered.Bool("clusteredIndex", true)
		clustered.Fields(options)
		clustered.End()
		buckets = newEntry(ch.NewID, db, timeseries.BucketsName(name), catalog.KindCollection, clustered.Bytes())
		for _, spec := range indexes {
			ix := catalog.NewIndex(ch.NewID(), spec.Clone())
			markReady(ix)
			buckets.Indexes = append(buckets.Indexes, ix)
		}
		ch.Put(buckets)
		ch.Put(newEntry(ch.NewID, db, name, catalog.KindTimeseries, options))
		if err := s.logCreate(ch, buckets); err != nil {
			return err
		}
		return s.logIndexes(ch, buckets, buckets.Indexes)
	})
	if err != nil {
		return nil, err
	}
	return buckets.Attached.(*Collection), nil
}

// Buckets returns the collection with the buckets of a time-series collection, nil where c is none.
func (s *Store) Buckets(c *Collection) *Collection {
	if c == nil || c.Kind != catalog.KindTimeseries {
		return nil
	}
	return s.Lookup(c.DB, timeseries.BucketsName(c.Name))
}

// OfBuckets returns the time-series collection whose buckets c has, nil where it has none.
func (s *Store) OfBuckets(c *Collection) *Collection {
	if c == nil || c.Timeseries == nil {
		return nil
	}
	name, _ := timeseries.NameOf(c.Name)
	return s.Lookup(c.DB, name)
}

// withBuckets returns a collection and the other one of a time-series collection.
func (s *Store) withBuckets(c *Collection) []*Collection {
	out := []*Collection{c}
	if other := s.Buckets(c); other != nil {
		out = append(out, other)
	}
	if other := s.OfBuckets(c); other != nil {
		out = append(out, other)
	}
	return out
}

// SetTimeseriesOptions replaces the options of a time-series collection, of its buckets too.
func (s *Store) SetTimeseriesOptions(c *Collection, options bsonx.Doc) error {
	return s.change(s.withBuckets(c), func(ch *catalog.Change) error {
		for _, half := range s.withBuckets(c) {
			newest := half.shared.current.Load()
			if newest == nil {
				return mongoerr.New(mongoerr.NamespaceNotFound, "ns does not exist: %s", c.Namespace())
			}
			entry := *newest.Collection
			old := entry.Options
			entry.Options = options.Clone()
			if half.Timeseries != nil {
				b := bsonx.NewBuilder(nil)
				b.StartDoc()
				b.Bool("clusteredIndex", true)
				b.Fields(options)
				b.End()
				entry.Options = b.Bytes()
				if err := s.logCollMod(ch, &entry, old, entry.Options); err != nil {
					return err
				}
			}
			ch.Put(&entry)
		}
		return nil
	})
}

// RenameTimeseries gives a time-series collection another name; what has that name is dropped with dropTarget.
func (s *Store) RenameTimeseries(c *Collection, db, name string, dropTarget bool) error {
	if err := s.checkNew(db, name); err != nil {
		return err
	}
	halves := s.withBuckets(c)
	colls := slices.Clone(halves)
	if target := s.Lookup(db, name); target != nil {
		if !dropTarget {
			return mongoerr.New(mongoerr.NamespaceExists, "target namespace exists")
		}
		colls = append(colls, s.withBuckets(target)...)
	}
	return s.discard(colls, func(ch *catalog.Change) (garbage []catalog.Range, err error) {
		for i, old := range colls {
			newest := old.shared.current.Load()
			if newest == nil || newest.Namespace() != old.Namespace() {
				return nil, mongoerr.New(mongoerr.NamespaceNotFound, "collection %s was dropped or renamed", old.Namespace())
			}
			ch.Remove(newest.Collection)
			if i >= len(halves) {
				garbage = append(garbage, newest.ranges()...)
				continue
			}
			renamed := *newest.Collection
			renamed.DB, renamed.Name = db, name
			if newest.Timeseries != nil {
				renamed.Name = timeseries.BucketsName(name)
			}
			old := ch.Lookup(db, renamed.Name)
			if old != nil && !slices.ContainsFunc(colls, func(c *Collection) bool { return c.ID == old.ID }) {
				return nil, mongoerr.New(mongoerr.NamespaceExists, "target namespace exists")
			}
			ch.Put(&renamed)
			if newest.Timeseries != nil {
				if err := s.logRename(ch, newest.Collection, &renamed, old, false); err != nil {
					return nil, err
				}
			}
		}
		return garbage, nil
	})
}
