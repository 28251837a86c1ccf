package table

import (
	"fmt"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/changelog"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/oplog"
)

// DefaultOplogSize is the default size of the oplog, in bytes of entries.
//
// The oplog, local.oplog.rs, is a collection whose records are clustered by their stamp, the field
// ts. The storage engine assigns the stamp at the commit. Only Writers and changes of the catalog
// add entries.
const DefaultOplogSize = 512 << 20

// OpenOplog opens or creates the oplog. It starts the background work that trims the oplog and
// records its history. size is the size of a new oplog, see Options.
func (s *Store) OpenOplog(size int64) (err error) {
	c := s.Lookup(oplog.DB, oplog.Collection)
	if c == nil {
		if c, err = createOplog(s.catalog, size); err != nil {
			return err
		}
	}
	if !c.Oplog {
		return fmt.Errorf("the collection %s.%s is not a log of changes; rename or drop it with --standalone", oplog.DB, oplog.Collection)
	}
	s.oplog = c
	s.log, err = changelog.Open(s.engine, &changelog.Options{
		ID: c.ID, Clock: s.clock, Size: s.oplogSize, Retention: retentionOf(c.Options),
	})
	if err != nil {
		return err
	}
	s.activities.Reset() // earlier activity is unknown
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

// oplogSize returns the size limit of the oplog in bytes. ok is false if the collection was
// dropped.
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

// minRetention is the collection option that stores the minimum retention of the oplog, in hours.
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

// isOplog reports whether an entry is the oplog. It is the only capped collection without an _id
// index.
func isOplog(e *Entry) bool {
	return e.DB == oplog.DB && e.Name == oplog.Collection && e.IDIndex == nil && IsCapped(e.Options)
}

// Oplog returns the collection of the oplog, or nil if the store does not have an oplog.
func (s *Store) Oplog() *Collection {
	if s.oplog == nil {
		return nil
	}
	return s.Current(s.oplog)
}

// Log returns the oplog, or nil if the store does not log its changes.
func (s *Store) Log() *changelog.Log { return s.log }

// History returns the recent snapshots, or nil if the store does not log its changes.
func (s *Store) History() *changelog.History[CatalogView] { return s.history }

// Activities returns the object through which change streams learn where something has changed.
func (s *Store) Activities() *changelog.Activities { return s.activities }

// OplogLimits returns the size limit of the oplog in bytes and its minimum retention. Both are 0 if
// the store does not have an oplog.
func (s *Store) OplogLimits() (size int64, retention time.Duration) {
	if c := s.Oplog(); c != nil {
		return c.Capped.Size, s.log.Retention()
	}
	return 0, 0
}

// ResizeOplog changes the limits of the oplog durably: size is the size limit in bytes. Entries
// newer than retention are kept even beyond the size limit.
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
