package table

import (
	"fmt"
	"log/slog"
	"sync"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/changelog"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/index"
	"github.com/sheafdb/sheaf/internal/keyspace"
	"github.com/sheafdb/sheaf/internal/memory"
	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/timeseries"
)

// Compiler compiles the specifications of a catalog entry. It lives above this package.
type Compiler interface {
	// Partial compiles a partialFilterExpression, which follows the collation of the index.
	Partial(filter bsonx.Doc, c *collation.Collator) (Predicate, error)
	// Validator compiles the validator of a collection's options, which follows its collation; nil where there is none.
	Validator(options bsonx.Doc, c *collation.Collator) (Validator, error)
}

// Store is all collections of an engine. It is safe for concurrent use.
type Store struct {
	engine   storage.Engine
	catalog  *catalog.Catalog
	compiler Compiler
	logger   *slog.Logger

	// These are nil for a store that does not log its changes.
	oplog   *Collection
	log     *changelog.Log
	history *changelog.History[catalog.View]

	activities *changelog.Activities
	memory     *memory.Budget // nil where nobody counts

	background sync.WaitGroup
	stop       chan struct{}
	virtual    map[namespace]*Collection // see AddVirtual; nil for none
	between    func()                    // see Interleave; nil for nothing
	scans      Scans                     // of all collections
}

// New returns the collections of an engine, without an oplog. Package ddl opens stores: it completes
// what a crash has left first.
func New(engine storage.Engine, compiler Compiler, log *slog.Logger) (*Store, error) {
	s := &Store{
		engine: engine, compiler: compiler, logger: log, activities: changelog.NewActivities(engine.Order()), stop: make(chan struct{}),
	}
	cat, err := catalog.Open(engine, s.attach)
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
func (s *Store) Catalog() *catalog.Catalog { return s.catalog }

// Lookup returns a collection or view by name, or nil. It takes no lock.
func (s *Store) Lookup(db, name string) *Collection {
	entry := s.catalog.Lookup(db, name)
	s.Interleaved()
	if entry == nil {
		return s.virtual[namespace{db, name}]
	}
	return entry.Attached.(*Collection)
}

// IsCurrent reports whether c is the newest form of its collection. What reads the collection by its indexes asks after it has
// taken its snapshot: an index that was dropped before that may be empty in it, and so may a dropped collection.
func (s *Store) IsCurrent(c *Collection) bool { return c.shared.current.Load() == c }

// Current returns the newest form of a collection, under whatever name it has now, or nil after a drop.
func (s *Store) Current(c *Collection) *Collection { return c.shared.current.Load() }

// Count returns how many records a collection has and their size in bytes, without a scan.
func (s *Store) Count(c *Collection) (storage.Counter, error) {
	return s.engine.Counter(c.shared.counter)
}

// attach compiles an entry; it is the catalog's Attach hook.
func (s *Store) attach(entry, old *catalog.Collection) (any, error) {
	c := &Collection{Collection: entry, namespace: entry.Namespace(), activity: s.activities.Of(entry.DB, entry.Name)}
	var previous *Collection
	if old != nil {
		previous = old.Attached.(*Collection)
		c.shared = previous.shared
	} else {
		c.shared = &shared{counter: keyspace.Prefix(keyspace.Counters, entry.ID), idUses: newUses(), scans: Scans{all: &s.scans}}
		if entry.IDIndex != nil {
			c.shared.capped = &cappedState{}
		}
		if isOplog(entry) {
			c.shared.capped, c.shared.order = &cappedState{}, s.engine.Order()
		}
	}
	if err := s.attachOptions(c, previous); err != nil {
		return nil, err
	}
	if entry.Kind == catalog.KindCollection {
		c.Timeseries = timeseries.FromOptions(entry.Options)
	}
	c.PreImages = entry.Options.LookupPath("changeStreamPreAndPostImages", "enabled").Truthy()
	for _, e := range entry.Indexes {
		co, err := collationOf(e.Spec)
		if err != nil {
			return nil, fmt.Errorf("index %s: %w", e.Name, err)
		}
		ix, err := s.attachIndex(e, previous, co)
		if err != nil {
			return nil, fmt.Errorf("index %s: %w", e.Name, err)
		}
		if c.Timeseries != nil {
			ix.measured = c.Timeseries.Measured(e.Key)
		}
		if IsRebuild(ix.Name) {
			c.rebuilds = append(c.rebuilds, ix)
		} else {
			c.Indexes = append(c.Indexes, ix)
		}
	}
	c.maintained = c.AllIndexes()
	if err := s.attachIDIndex(c, previous); err != nil {
		return nil, err
	}
	if old == nil {
		c.shared.current.Store(c)
	}
	return c, nil
}

// attachOptions compiles the collation and the validator. They are those of the previous version if
// the options are the same.
func (s *Store) attachOptions(c, previous *Collection) (err error) {
	if previous != nil && previous.Options.Equal(c.Options) {
		c.Collation, c.Validator = previous.Collation, previous.Validator
		return nil
	}
	if c.Collation, err = collationOf(c.Options); err != nil {
		return err
	}
	c.Validator, err = s.compiler.Validator(c.Options, c.Collation)
	return err
}

// attachIDIndex compiles what only capped collections have.
func (s *Store) attachIDIndex(c, previous *Collection) error {
	entry := c.Collection.IDIndex
	if isOplog(c.Collection) {
		c.Capped, c.Oplog = cappedOptions(c.Options), true
	}
	if entry == nil {
		return nil
	}
	c.Capped = cappedOptions(c.Options)
	if previous != nil {
		c.IDIndex = previous.IDIndex
	} else {
		ix, err := s.attachIndex(entry, nil, c.Collation)
		if err != nil {
			return fmt.Errorf("index %s: %w", entry.Name, err)
		}
		c.IDIndex = ix
	}
	c.maintained = append([]*Index{c.IDIndex}, c.maintained...)
	return nil
}

// collationOf reads the collation of a collection's options or an index's specification.
func collationOf(spec bsonx.Doc) (*collation.Collator, error) {
	v := spec.Lookup("collation")
	if v.Type != bsonx.TypeDocument {
		return nil, nil
	}
	return collation.Parse(v.Doc())
}

// attachIndex compiles an index. What does not change is shared with the previous version of the
// collection: history keeps old versions for a while, and a partial filter may have 16 MiB.
func (s *Store) attachIndex(e *catalog.Index, previous *Collection, co *collation.Collator) (*Index, error) {
	p := previous.IndexByID(e.ID)
	if p != nil && p.Spec.Equal(e.Spec) {
		shared := *p
		shared.Index, shared.measured = e, nil
		return &shared, nil
	}
	pattern, keygen, err := index.Compile(index.Spec{Key: e.Key, Sparse: e.Sparse, Collation: co, Options: e.Spec})
	if err != nil {
		return nil, err
	}
	ix := &Index{Index: e, Pattern: pattern, keygen: keygen, Collation: co}
	ix.byPaths = ix.Kind() == index.Ordered || ix.Kind() == index.Hashed
	if p != nil {
		ix.multikey, ix.uses = p.multikey, p.uses
	} else {
		ix.multikey, ix.uses = &multikeyState{}, newUses()
		if err := s.loadMultikey(ix); err != nil {
			return nil, err
		}
	}
	if e.PartialFilter != nil {
		partial, err := s.compiler.Partial(e.PartialFilter, ix.Collation)
		if err != nil {
			return nil, err
		}
		ix.Partial = partial
	}
	return ix, nil
}

// IndexByID returns the index with an identifier that writers maintain, or nil. c may be nil.
func (c *Collection) IndexByID(id uint32) *Index {
	if c == nil {
		return nil
	}
	for _, ix := range c.maintained {
		if ix.ID == id {
			return ix
		}
	}
	return nil
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
