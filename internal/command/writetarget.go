package command

import (
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/read"
	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/table"
)

// WriteTarget checks the namespace of a write and returns the collection that the write changes.
// For a time series this is its bucket collection. It returns nil if the collection does not exist.
func WriteTarget(r *Request, db, name string) (*table.Collection, error) {
	if err := catalog.CheckDatabaseName(db); err != nil {
		return nil, err
	}
	if err := catalog.CheckWrite(db, name); err != nil {
		return nil, err
	}
	return ExistingTarget(r, db, name)
}

// ExistingTarget returns the collection that a write to db.name changes, or nil if it does not
// exist. It does not check the name: use WriteTarget for a collection that the write may create.
func ExistingTarget(r *Request, db, name string) (*table.Collection, error) {
	c, err := r.Reads().Lookup(db, name)
	if err != nil {
		return nil, err
	}
	return WrittenTarget(r, c)
}

// WrittenTarget returns the collection that a write to c changes: c, or the buckets of a time
// series. It returns nil if c is nil, and an error if c is a view or a virtual collection.
func WrittenTarget(r *Request, c *table.Collection) (*table.Collection, error) {
	switch {
	case c == nil:
		return nil, nil
	case c.Kind == catalog.KindTimeseries:
		return r.Reads().Buckets(c)
	case read.IsVirtual(c):
		return nil, NotStored(c)
	case c.Kind == catalog.KindView:
		return nil, mongoerr.New(mongoerr.CommandNotSupportedOnView,
			"Namespace %s is a view, not a collection", c.Namespace())
	}
	return c, nil
}

// EnsureTarget returns the collection that an insert into db.name changes, and creates it if it
// does not exist.
func EnsureTarget(r *Request, db, name string) (*table.Collection, error) {
	var c *table.Collection
	err := table.RetryOn(table.ErrChanged, func() (err error) {
		if c, err = WriteTarget(r, db, name); err != nil || c != nil {
			return err
		}
		if _, err := r.Writable().Ensure(db, name); err != nil {
			return err
		}
		return table.ErrChanged // another client may have created a view or a time series first
	})
	return c, err
}

// Durability returns durable if the write concern requires that a commit survives a loss of power,
// and storage.Buffered otherwise.
func (r *Request) Durability(durable storage.Durability) storage.Durability {
	if r.Generic.WriteConcern.durable() {
		return durable
	}
	return storage.Buffered
}
