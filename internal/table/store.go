package table

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/index"
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
	log      *slog.Logger

	oplog      *changeLog // nil for a store that does not log its changes
	activities *activities
	memory     *memory.Budget // nil where nobody counts

	builds     sync.WaitGroup // index builds that Open resumed
	background sync.WaitGroup
	stop       chan struct{}
	virtual    map[namespace]*Collection // see AddVirtual; nil for none
	between    func()                    // see Interleave; nil for nothing
	scans      Scans                     // of all collections
}

// Open opens the collections of an engine. Index builds that a crash interrupted are begun again in the background. Changes
// are not logged; see OpenLogged.
func Open(engine storage.Engine, compiler Compiler, log *slog.Logger) (*Store, error) {
	return open(engine, compiler, log, nil)
}

func open(engine storage.Engine, compiler Compiler, log *slog.Logger, o *OplogOptions) (*Store, error) {
	s := &Store{engine: engine, compiler: compiler, log: log, activities: newActivities(engine.Order()), stop: make(chan struct{})}
	cat, err := catalog.Open(engine, s.attach)
	if err != nil {
		return nil, err
	}
	s.catalog = cat
	for _, step := range s.openingSteps(o) {
		if err := s.open(&step); err != nil {
			s.Close()
			return nil, err
		}
	}
	s.resumeBuilds()
	return s, nil
}

// openingStep is something that Open does to a store.
type openingStep struct {
	what string
	run  func() error
	// waits says that the store is whole without the step: on a full disk it is left for the next start.
	waits bool
}

func (s *Store) openingSteps(o *OplogOptions) []openingStep {
	return []openingStep{
		{"deleting dropped data", s.sweepGarbage, true},
		{"opening the log of changes", func() error { return s.openOplog(o) }, false},
		{"dropping unfinished collections", s.dropUnfinished, true},
		{"indexes of kinds that are new", s.reopenUnfilled, false},
		{"dropping interrupted rebuilds of indexes", s.dropRebuilds, true},
		{"documents of views", s.completeViews, true},
	}
}

// open takes a step.
func (s *Store) open(step *openingStep) error {
	err := step.run()
	switch {
	case err == nil:
		return nil
	case !errors.Is(err, storage.ErrNoSpace):
		return fmt.Errorf("%s: %w", step.what, err)
	case !step.waits:
		return fmt.Errorf("%s: %w; make space and start again", step.what, err)
	}
	s.log.Warn("the disk is full: left for the next start", "what", step.what, "error", err)
	return nil
}

// UnfinishedPrefix begins the names of collections that are being made to take another one's place. Those that a crash left
// behind are dropped when the store opens.
const UnfinishedPrefix = "tmp.agg_out."

// convertedPrefix is that of Convert's copies.
const convertedPrefix = "tmp.convertToCapped."

func (s *Store) dropUnfinished() error {
	for _, entry := range s.catalog.All() {
		if !strings.HasPrefix(entry.Name, UnfinishedPrefix) && !strings.HasPrefix(entry.Name, convertedPrefix) {
			continue
		}
		if err := s.Drop(entry.Attached.(*Collection)); err != nil {
			return fmt.Errorf("dropping the unfinished collection %s.%s: %w", entry.DB, entry.Name, err)
		}
	}
	return nil
}

// LimitMemory counts transactions and index entries in the budget of the requests. It is called
// before the first request.
func (s *Store) LimitMemory(b *memory.Budget) { s.memory = b }

// Close ends the background work. The engine stays open.
func (s *Store) Close() {
	close(s.stop)
	s.builds.Wait()
	s.background.Wait()
}

// Interleave makes the store call fn where a change of another client may come between what its
// caller knows and what it does: after each look-up by name, after each write, and before each
// change of the catalog takes its locks. Tests run a second command there. fn must be safe for
// concurrent use. Interleave is called before the first request.
func (s *Store) Interleave(fn func()) { s.between = fn }

func (s *Store) interleave() {
	if s.between != nil {
		s.between()
	}
}

// Engine returns the engine below.
func (s *Store) Engine() storage.Engine { return s.engine }

// Catalog returns the catalog; it is for reading, changes go through the Store.
func (s *Store) Catalog() *catalog.Catalog { return s.catalog }

// Lookup returns a collection or view by name, or nil. It takes no lock.
func (s *Store) Lookup(db, name string) *Collection {
	entry := s.catalog.Lookup(db, name)
	s.interleave()
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
	c := &Collection{Collection: entry, namespace: entry.Namespace(), activity: s.activities.of(entry.DB, entry.Name)}
	var previous *Collection
	if old != nil {
		previous = old.Attached.(*Collection)
		c.shared = previous.shared
	} else {
		c.shared = &shared{counter: prefix(counterSpace, entry.ID), idUses: newUses(), scans: Scans{all: &s.scans}}
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
		if isRebuild(ix.Name) {
			c.rebuilds = append(c.rebuilds, ix)
		} else {
			c.Indexes = append(c.Indexes, ix)
		}
	}
	c.maintained = c.withRebuilds()
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
	p := previous.index(e.ID)
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

// index returns the index with an identifier that writers maintain, or nil. c may be nil.
func (c *Collection) index(id uint32) *Index {
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

// change runs a change of the catalog that concerns existing collections: their writers are kept out while the change
// is made durable and published.
func (s *Store) change(colls []*Collection, fn func(*catalog.Change) error) error {
	s.interleave()
	for _, c := range byID(colls) {
		c.shared.gate.Lock()
		defer c.shared.gate.Unlock()
	}
	var done *catalog.Change
	err := s.define(s.catalog.Update, func(ch *catalog.Change) error {
		done = ch
		return fn(ch)
	})
	if err != nil {
		return err
	}
	for _, e := range done.Removed() {
		if !slices.ContainsFunc(done.Added(), func(a *catalog.Collection) bool { return a.ID == e.ID }) {
			e.Attached.(*Collection).shared.publish(nil)
		}
	}
	for _, e := range done.Added() {
		c := e.Attached.(*Collection)
		c.shared.publish(c)
	}
	for _, e := range done.Removed() {
		if c := e.Attached.(*Collection); c.Capped != nil {
			c.shared.capped.arrivals.announce() // waiters notice that it is gone
		}
	}
	return nil
}

// byID returns collections in the order in which their gates are taken.
func byID(colls []*Collection) []*Collection {
	return slices.SortedFunc(slices.Values(colls), func(a, b *Collection) int { return cmp.Compare(a.ID, b.ID) })
}

func (s *Store) sweepGarbage() error {
	ranges, err := s.catalog.Garbage()
	if err != nil {
		return err
	}
	return s.sweepAll(ranges)
}
