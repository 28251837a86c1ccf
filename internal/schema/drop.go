package schema

import (
	"context"
	"errors"
	"fmt"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/table"
)

// Drop removes a collection or view with its records and indexes, and a time-series collection with
// its buckets. It fails with NamespaceNotFound if c has another name by now.
func Drop(s *table.Store, c *table.Collection) error {
	if s.IsLive(c) {
		return errLiveOplog("drop")
	}
	colls := withBuckets(s, c)
	names := map[string]bool{}
	for _, c := range colls {
		names[c.Namespace()] = true
	}
	check := func(newest *table.Collection) error {
		if newest == nil || !names[newest.Namespace()] {
			return fmt.Errorf("%w: %w", mongoerr.New(mongoerr.NamespaceNotFound, "ns not found"), table.ErrChanged)
		}
		return nil
	}
	return dropAll(s, colls, check, func(*table.CatalogChange) error { return nil })
}

// DropDatabase removes all collections and views of a database, including collections that are
// created while it waits for writers. It returns false if there was nothing to remove, for example
// because another client dropped the database first. If ctx ends before the change is committed, it
// removes nothing.
func DropDatabase(ctx context.Context, s *table.Store, db string) (dropped bool, err error) {
	err = table.RetryOn(errTargetChanged, func() (err error) {
		var colls []*table.Collection
		for _, e := range s.Catalog().Collections(db) {
			colls = append(colls, e.Attached)
		}
		dropped, err = dropListed(ctx, s, db, colls)
		return err
	})
	return dropped, err
}

// dropListed is DropDatabase for the listed collections. It fails with errTargetChanged if the
// database has other collections.
func dropListed(ctx context.Context, s *table.Store, db string, colls []*table.Collection) (dropped bool, err error) {
	if len(colls) == 0 {
		return false, nil
	}
	listed := make(map[uint32]bool, len(colls))
	for _, c := range colls {
		listed[c.ID] = true
	}
	check := func(newest *table.Collection) error {
		if err := interrupt.Cause(ctx); err != nil {
			return err
		}
		if newest == nil || newest.DB != db {
			return errSkip // dropped or renamed meanwhile
		}
		return nil
	}
	err = dropAll(s, colls, check, func(ch *table.CatalogChange) error {
		for _, e := range s.Catalog().Collections(db) {
			if !listed[e.ID] {
				return errTargetChanged
			}
		}
		if dropped = len(ch.Removed()) > 0; !dropped {
			return nil
		}
		return s.Log().Command(ch.Txn(), db, nil, bsonx.NewDoc("dropDatabase", 1), nil)
	})
	return dropped && err == nil, err
}

// errSkip is returned by the check of dropAll for a collection that must not be dropped.
var errSkip = errors.New("not to be dropped")

// dropAll removes collections in one change of the catalog. The function last may add to that
// change. dropAll calls check with the newest version of each collection, or with nil if the
// collection was dropped.
func dropAll(s *table.Store, colls []*table.Collection, check func(newest *table.Collection) error,
	last func(*table.CatalogChange) error,
) error {
	colls = table.ByID(colls)
	return discard(s, colls, func(ch *table.CatalogChange) (garbage []catalog.Range, err error) {
		for _, c := range colls {
			newest := s.Current(c)
			if err := check(newest); errors.Is(err, errSkip) {
				continue
			} else if err != nil {
				return nil, err
			}
			ch.Remove(newest.Collection)
			if err := logDrop(s, ch, newest); err != nil {
				return nil, err
			}
			garbage = append(garbage, newest.Ranges()...)
		}
		return garbage, last(ch)
	})
}

// discard runs a change of existing collections. fn returns the key ranges that no catalog entry
// refers to after the change; discard deletes them after the commit.
func discard(s *table.Store, colls []*table.Collection, fn func(*table.CatalogChange) ([]catalog.Range, error)) error {
	var garbage []catalog.Range
	err := s.Change(colls, mirrored(func(ch *table.CatalogChange) (err error) {
		if garbage, err = fn(ch); err != nil {
			return err
		}
		garbage = joined(garbage)
		return remember(ch, garbage)
	}))
	if err != nil {
		return err
	}
	sweep(s, garbage)
	return nil
}
