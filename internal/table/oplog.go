package table

import (
	"fmt"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/changelog"
	"github.com/sheafdb/sheaf/internal/clock"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/oplog"
)

// The log of changes, local.oplog.rs, is a collection whose records are clustered by their stamp,
// the field ts. Storage gives the stamp with the commit, and entries come from Writers and from
// changes of the catalog only.

// DefaultOplogSize is how many bytes of entries are kept where nothing else is said.
const DefaultOplogSize = 512 << 20

// OplogOptions configure the log.
type OplogOptions struct {
	// Size is how many bytes of entries are kept in a log that is made now, DefaultOplogSize if
	// zero. One that is there has its own size; see ResizeOplog.
	Size int64
	// Clock tells the time of entries; the computer's if nil.
	Clock clock.Clock
}

// OpenOplog finds or makes the log, and begins to trim it and to keep its history.
func (s *Store) OpenOplog(o *OplogOptions) (err error) {
	c := s.Lookup(oplog.DB, oplog.Collection)
	if c == nil {
		if c, err = createOplog(s.catalog, o.Size); err != nil {
			return err
		}
	}
	if !c.Oplog {
		return fmt.Errorf("the collection %s.%s is not a log of changes; rename or drop it with --standalone", oplog.DB, oplog.Collection)
	}
	s.oplog = c
	s.log, err = changelog.Open(s.engine, &changelog.Options{
		ID: c.ID, Clock: o.Clock, Size: s.oplogSize, Retention: retentionOf(c.Options),
	})
	if err != nil {
		return err
	}
	s.activities.Reset() // of what was before, nothing is known
	s.Background(func() { s.log.Trim(s.stop, s.logger) })
	s.history, err = changelog.NewHistory(s.log, func() changelog.Point[CatalogView] { return newPoint(s) })
	if err != nil {
		return err
	}
	s.Background(func() { s.history.Record(s.stop, s.logger) })
	return nil
}

// newPoint takes a snapshot for the history.
func newPoint(s *Store) changelog.Point[CatalogView] {
	p, view := steady(s, func() (p changelog.Point[CatalogView]) {
		p.Visible, p.Snapshot = s.engine.Order().Visible(), s.engine.NewSnapshot()
		return p
	}, func(p changelog.Point[CatalogView]) { _ = p.Close() })
	p.View = view
	return p
}

// oplogSize returns how many bytes of entries are kept; ok is false where the collection is gone.
func (s *Store) oplogSize() (size int64, ok bool) {
	c := s.Current(s.oplog)
	if c == nil {
		return 0, false
	}
	return c.Capped.Size, true
}

func createOplog(c *catalog.Catalog[*Collection], size int64) (*Collection, error) {
	var entry *Entry
	err := c.Update(func(ch *CatalogChange) error {
		entry = &Entry{
			ID: ch.NewID(), DB: oplog.DB, Name: oplog.Collection, UUID: NewUUID(), Kind: catalog.KindCollection,
			Options: oplogOptions(size, 0),
		}
		ch.Put(entry)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return entry.Attached, nil
}

// minRetention is the option that keeps the retention of the log, in hours.
const minRetention = "minRetentionHours"

func oplogOptions(size int64, retention time.Duration) bsonx.Doc {
	if retention == 0 {
		return bsonx.NewDoc("capped", true, "size", size, "autoIndexId", false)
	}
	return bsonx.NewDoc("capped", true, "size", size, "autoIndexId", false, minRetention, retention.Hours())
}

func retentionOf(options bsonx.Doc) time.Duration {
	hours, _ := options.Lookup(minRetention).AsFloat64()
	return time.Duration(hours * float64(time.Hour))
}

// isOplog reports whether an entry is the log of changes: the one capped collection that has no _id
// index.
func isOplog(e *Entry) bool {
	return e.DB == oplog.DB && e.Name == oplog.Collection && e.IDIndex == nil && IsCapped(e.Options)
}

// Oplog returns the collection of the oplog, nil for a store that has none.
func (s *Store) Oplog() *Collection {
	if s.oplog == nil {
		return nil
	}
	return s.Current(s.oplog)
}

// Log returns the oplog, nil for a store that logs nothing.
func (s *Store) Log() *changelog.Log { return s.log }

// History returns the snapshots of late, nil for a store that logs nothing.
func (s *Store) History() *changelog.History[CatalogView] { return s.history }

// Activities returns what tells change streams where something has happened.
func (s *Store) Activities() *changelog.Activities { return s.activities }

// OplogLimits returns the limits of the log; zeros for a store that has none.
func (s *Store) OplogLimits() (size int64, retention time.Duration) {
	if c := s.Oplog(); c != nil {
		return c.Capped.Size, s.log.Retention()
	}
	return 0, 0
}

// ResizeOplog changes the limits of the log, for good: how many bytes of entries are kept, and for
// how long entries are kept although there are more than that.
func (s *Store) ResizeOplog(size int64, retention time.Duration) error {
	c := s.oplog
	if c == nil {
		return changelog.ErrOff
	}
	err := s.Change([]*Collection{c}, func(ch *CatalogChange) error {
		newest := s.Current(c)
		if newest == nil {
			return fmt.Errorf("%w: %w",
				mongoerr.New(mongoerr.NamespaceNotFound, "ns does not exist: %s", c.Namespace()), ErrChanged)
		}
		entry := *newest.Collection
		entry.Options = oplogOptions(size, retention)
		ch.Put(&entry)
		return nil
	})
	s.log.Resized(retention)
	return err
}

// IsLive reports whether c is the oplog that the store writes.
func (s *Store) IsLive(c *Collection) bool { return s.log != nil && c.Oplog }
