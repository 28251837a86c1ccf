package table

import (
	"log/slog"
	"sync"

	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/changelog"
	"github.com/sheafdb/sheaf/internal/memory"
	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/timeseries"
)

// Store is all collections of an engine. It is safe for concurrent use.
type Store struct {
	engine  storage.Engine
	catalog *catalog.Catalog[*Collection]
	attach  *attacher
	logger  *slog.Logger

	// These are nil for a store that does not log its changes.
	oplog   *Collection
	log     *changelog.Log
	history *changelog.History[CatalogView]

	activities *changelog.Activities
	memory     *memory.Budget // nil where nobody counts

	background sync.WaitGroup
	stop       chan struct{}
	virtual    map[namespace]*Collection // see AddVirtual; nil for none
	between    func()                    // see Interleave; nil for nothing
	scans      Scans                     // of all collections
}

// New returns the collections of an engine, without an oplog. Package schema opens stores: it
// completes what a crash has left first.
func New(engine storage.Engine, compiler Compiler, log *slog.Logger) (*Store, error) {
	s := &Store{engine: engine, logger: log, activities: changelog.NewActivities(engine.Order()), stop: make(chan struct{})}
	s.attach = &attacher{engine: engine, compiler: compiler, activities: s.activities, scans: &s.scans}
	cat, err := catalog.Open(engine, s.attach.collection)
	if err != nil {
		return nil, err
	}
	s.catalog = cat
	return s, nil
}

// LimitMemory counts transactions and index entries in the budget of the requests. It is called
// before the first request.
func (s *Store) LimitMemory(b *memory.Budget) { s.memory = b }

// Close ends the background work. The engine stays open.
func (s *Store) Close() {
	close(s.stop)
	s.background.Wait()
}

// Interleave makes the store call fn where a change of another client may come between what its
// caller knows and what it does: after each look-up by name, after each write, and before each
// change of the catalog takes its locks. Tests run a second command there. fn must be safe for
// concurrent use. Interleave is called before the first request.
func (s *Store) Interleave(fn func()) { s.between = fn }

// Interleaved calls the function of Interleave, if there is one.
func (s *Store) Interleaved() {
	if s.between != nil {
		s.between()
	}
}

// Background runs fn beside the requests. Close waits for it; fn must end when Stopping is closed.
func (s *Store) Background(fn func()) { s.background.Go(fn) }

// Stopping returns a channel that is closed when the store is closed.
func (s *Store) Stopping() <-chan struct{} { return s.stop }

// Logger returns where the store writes messages.
func (s *Store) Logger() *slog.Logger { return s.logger }

// Engine returns the engine below.
func (s *Store) Engine() storage.Engine { return s.engine }

// Catalog returns the catalog; it is for reading, changes go through the Store.
func (s *Store) Catalog() *catalog.Catalog[*Collection] { return s.catalog }

// Lookup returns a collection or view by name, or nil. It takes no lock.
func (s *Store) Lookup(db, name string) *Collection {
	entry := s.catalog.Lookup(db, name)
	s.Interleaved()
	if entry == nil {
		return s.virtual[namespace{db, name}]
	}
	return entry.Attached
}

// IsCurrent reports whether c is the newest form of its collection. What reads the collection by
// its indexes asks after it has taken its snapshot: an index that was dropped before that may be
// empty in it, and so may a dropped collection.
func (s *Store) IsCurrent(c *Collection) bool { return c.shared.current.Load() == c }

// Current returns the newest form of a collection, under whatever name it has now, or nil after a
// drop.
func (s *Store) Current(c *Collection) *Collection { return c.shared.current.Load() }

// Count returns how many records a collection has and their size in bytes, without a scan.
func (s *Store) Count(c *Collection) (storage.Counter, error) {
	return s.engine.Counter(c.shared.counter)
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

// Scans returns the counter of the scans of all collections, also of those that were dropped.
func (s *Store) Scans() *Scans { return &s.scans }

// namespace is a database and a name in it.
type namespace struct{ db, name string }
