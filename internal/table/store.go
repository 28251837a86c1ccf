package table

import (
	"log/slog"
	"sync"

	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/changelog"
	"github.com/sheafdb/sheaf/internal/clock"
	"github.com/sheafdb/sheaf/internal/memory"
	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/timeseries"
)

// Store holds all collections of an engine. It is safe for concurrent use.
type Store struct {
	engine  storage.Engine
	clock   clock.Clock
	catalog *catalog.Catalog[*Collection]
	attach  *attacher
	logger  *slog.Logger

	// oplog, log and history are nil if the store does not log its changes.
	oplog   *Collection
	log     *changelog.Log
	history *changelog.History[CatalogView]

	activities *changelog.Activities
	memory     *memory.Budget // nil if memory is not accounted

	background sync.WaitGroup
	stop       chan struct{}
	virtual    map[namespace]*Collection // see AddVirtual; nil if there are no virtual collections
	between    func()                    // see Interleave; may be nil
	scans      Scans                     // scans of all collections
}

// Options configure a store.
type Options struct {
	// Clock is the clock of the store's timers and of the entries of the oplog; nil means the
	// computer's clock. A store settles the computer's clock, see clock.Settle.
	Clock clock.Clock
	// OplogSize is the size of a new oplog in bytes of entries; 0 means DefaultOplogSize. An
	// existing oplog keeps its size; see ResizeOplog.
	OplogSize int64
}

// New returns a store of the collections of an engine, without an oplog. Callers use package schema
// to open a store: it first completes work that a crash interrupted.
func New(engine storage.Engine, compiler Compiler, log *slog.Logger, c clock.Clock) (*Store, error) {
	s := &Store{
		engine: engine, clock: c, logger: log,
		activities: changelog.NewActivities(engine.Order()), stop: make(chan struct{}),
	}
	s.attach = &attacher{
		engine: engine, clock: c, compiler: compiler, activities: s.activities, scans: &s.scans,
	}
	cat, err := catalog.Open(engine, s.attach.collection)
	if err != nil {
		return nil, err
	}
	s.catalog = cat
	return s, nil
}

// LimitMemory makes transactions and index entries count in the memory budget of the requests. It
// must be called before the first request.
func (s *Store) LimitMemory(b *memory.Budget) { s.memory = b }

// Close stops the background work and waits for its end. The engine stays open.
func (s *Store) Close() {
	close(s.stop)
	s.background.Wait()
}

// Interleave makes the store call fn at each point where a change of another client can happen
// unnoticed: after each look-up by name, after each write, and before each change of the catalog
// takes its locks. Tests use it to run a second command there. fn must be safe for concurrent use.
// Interleave must be called before the first request.
func (s *Store) Interleave(fn func()) { s.between = fn }

// Interleaved calls the function that Interleave has set, if any.
func (s *Store) Interleaved() {
	if s.between != nil {
		s.between()
	}
}

// Background runs fn in a goroutine. Close waits for it, so fn must return when Stopping is closed.
func (s *Store) Background(fn func()) { s.background.Go(fn) }

// Stopping returns a channel that is closed when the store is closed.
func (s *Store) Stopping() <-chan struct{} { return s.stop }

// Clock returns the clock of the store.
func (s *Store) Clock() clock.Clock { return s.clock }

// Logger returns the logger of the store.
func (s *Store) Logger() *slog.Logger { return s.logger }

// Engine returns the storage engine of the store.
func (s *Store) Engine() storage.Engine { return s.engine }

// Catalog returns the catalog of the store. Commands only read it: they change a collection with
// Define, Change or a Txn, which wake the change streams. Package schema also changes it directly.
func (s *Store) Catalog() *catalog.Catalog[*Collection] { return s.catalog }

// Lookup returns a collection or view by name, or nil if it does not exist. It takes no lock.
func (s *Store) Lookup(db, name string) *Collection {
	entry := s.catalog.Lookup(db, name)
	s.Interleaved()
	if entry == nil {
		return s.virtual[namespace{db, name}]
	}
	return entry.Attached
}

// IsCurrent reports whether c is the newest version of its collection. A reader that uses indexes
// calls it after it has taken its snapshot: the entries of an index that was dropped earlier, and
// the records of a dropped collection, may be missing from the snapshot.
func (s *Store) IsCurrent(c *Collection) bool { return c.shared.current.Load() == c }

// Current returns the newest version of a collection, whatever its name is now. It returns nil
// after a drop.
func (s *Store) Current(c *Collection) *Collection { return c.shared.current.Load() }

// Count returns the number of records of a collection and their size in bytes, without a scan.
func (s *Store) Count(c *Collection) (storage.Counter, error) {
	return s.engine.Counter(c.shared.counter)
}

// Buckets returns the collection that stores the buckets of a time-series collection. It returns
// nil if c is not a time-series collection.
func (s *Store) Buckets(c *Collection) *Collection {
	if c == nil || c.Kind != catalog.KindTimeseries {
		return nil
	}
	return s.Lookup(c.DB, timeseries.BucketsName(c.Name))
}

// OfBuckets returns the time-series collection whose buckets c stores. It returns nil if c does not
// store buckets.
func (s *Store) OfBuckets(c *Collection) *Collection {
	if c == nil || c.Timeseries == nil {
		return nil
	}
	name, _ := timeseries.NameOf(c.Name)
	return s.Lookup(c.DB, name)
}

// Scans returns the counter of the scans of all collections, including dropped ones.
func (s *Store) Scans() *Scans { return &s.scans }

// namespace is a database name and a collection name.
type namespace struct{ db, name string }
