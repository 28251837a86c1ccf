package table

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/sheafdb/sheaf/internal/arrival"
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/changelog"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/index"
	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/timeseries"
)

// Predicate tells which documents a partial index covers or a validator accepts.
type Predicate interface {
	Match(doc bsonx.Doc) (bool, error)
}

// Entry is a collection's entry in the catalog.
type Entry = catalog.Collection[*Collection]

// CatalogChange is a change of the catalog.
type CatalogChange = catalog.Change[*Collection]

// CatalogView is the state of the catalog at one moment.
type CatalogView = catalog.View[*Collection]

// Collection is the compiled form of a collection's catalog entry: what reads and writes of it
// need. It is immutable; a change of the catalog makes a new one.
type Collection struct {
	*catalog.Collection[*Collection]
	namespace string
	// Indexes are all indexes, also those that are still being built, in catalog order without the
	// _id index and the copies of a rebuild.
	Indexes []*Index
	// IDIndex is nil where records are clustered by _id: the index then has no entries of its own.
	IDIndex *Index
	// Capped is nil for an ordinary collection. A capped one is clustered by insertion and has an
	// IDIndex.
	Capped *CappedOptions
	// Oplog says that it is the log of changes: capped, clustered by ts, and without an IDIndex.
	Oplog bool
	// PreImages says that versions before changes are logged.
	PreImages bool
	// Collation is the default of operations and indexes, and that of _id; nil compares bytes.
	Collation *collation.Collator
	// Timeseries is set where the records are buckets of a time-series collection.
	Timeseries *timeseries.Options
	// Validator is what Compiler.Validator made of the options, or nil.
	Validator Validator

	// rebuilds are the copies of indexes that will take their place.
	rebuilds []*Index
	// maintained are the indexes that have entries: IDIndex, Indexes and rebuilds.
	maintained []*Index
	shared     *shared
	activity   *changelog.Activity
}

// Namespace returns "db.collection".
func (c *Collection) Namespace() string { return c.namespace }

// Rebuilds returns the copies of indexes that will take their place.
func (c *Collection) Rebuilds() []*Index { return c.rebuilds }

// Changed returns a channel that is closed when another form than the newest one of now is
// published.
func (c *Collection) Changed() <-chan struct{} { return c.shared.changed() }

// AllIndexes returns the indexes that the catalog entry has.
func (c *Collection) AllIndexes() []*Index { return slices.Concat(c.Indexes, c.rebuilds) }

// NotCreated returns what a collection is before it is created: empty and without options.
func NotCreated(db, name string) *Collection {
	entry := &Entry{DB: db, Name: name, Kind: catalog.KindCollection, Options: bsonx.Empty}
	return &Collection{Collection: entry, namespace: entry.Namespace()}
}

// Validator checks documents before they are written.
type Validator interface {
	// Accepts reports whether a stored document satisfies the validator.
	Accepts(doc bsonx.Doc) bool
	// Check returns the error for a new version of a document; old is nil for an insert. It ends
	// with the operation.
	Check(ctx context.Context, old, doc bsonx.Doc) error
}

// shared is the state that all versions of a collection's compiled form have in common.
type shared struct {
	gate    sync.RWMutex
	current atomic.Pointer[Collection] // nil after a drop
	counter []byte                     // the counter's key
	capped  *cappedState               // nil for an ordinary collection
	order   *storage.Order             // nil but for the log of changes
	idUses  *Uses
	scans   Scans

	latencies Latencies
	traffic   Traffic

	mu       sync.Mutex
	watchers chan struct{} // closed at the next change; nil where no one watches
}

// publish makes c the newest form, nil after a drop.
func (s *shared) publish(c *Collection) {
	s.current.Store(c)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.watchers != nil {
		close(s.watchers)
		s.watchers = nil
	}
}

// changed returns a channel that is closed when another form than the newest one of now is
// published.
func (s *shared) changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.watchers == nil {
		s.watchers = make(chan struct{})
	}
	return s.watchers
}

// Index is the compiled form of an index.
type Index struct {
	*catalog.Index
	// Pattern is what the keys of entries consist of.
	Pattern index.Pattern
	// Collation turns the strings of the entries into their keys; nil leaves them as they are.
	Collation *collation.Collator
	// Partial is nil for an index over all documents.
	Partial Predicate

	keygen   index.Generator
	byPaths  bool     // the entries depend on the values at the paths of Pattern only
	measured []string // of an index on buckets, the fields that may have no arrays
	multikey *multikeyState
	uses     *Uses
}

// Multikey returns which path components were arrays; the result must not be changed. It only ever
// grows.
func (ix *Index) Multikey() index.MultikeyPaths {
	if m := ix.multikey.paths.Load(); m != nil {
		return *m
	}
	return nil
}

// ArrayPaths returns the paths at which a wildcard index has met arrays. It only ever grows.
func (ix *Index) ArrayPaths() *index.PathSet { return ix.multikey.arrays.Load() }

// coversPaths reports whether the paths of arrays that are known cover those of keys.
func (ix *Index) coversPaths(keys *index.Keys) bool {
	return ix.Multikey().Covers(keys.Multikey()) && ix.ArrayPaths().Covers(keys.ArrayPaths())
}

// WithPattern returns the index with its entries read by another pattern of as many fields: a
// wildcard index has the path that is asked for where its own pattern has the wildcard.
func (ix *Index) WithPattern(p index.Pattern) *Index {
	out := *ix
	out.Pattern = p
	return &out
}

// Kind returns the kind of the index.
func (ix *Index) Kind() index.Kind { return index.KindOf(ix.Key) }

// Generator returns what generates the keys of the index; nil with Pattern.
func (ix *Index) Generator() index.Generator { return ix.keygen }

// refusesDuplicates reports whether writers refuse values that another record has.
func (ix *Index) refusesDuplicates() bool { return ix.Enforced && (ix.Unique || ix.PrepareUnique) }

// covers reports whether the index has entries for doc.
func (ix *Index) covers(doc bsonx.Doc) (bool, error) {
	if ix.Partial == nil {
		return true, nil
	}
	return ix.Partial.Match(doc)
}

// dependsOn reports whether a change in scope can change the entries of a document. Of an index
// with a condition, and of those that look further than at their paths, that is not known.
func (ix *Index) dependsOn(scope Scope) bool {
	if scope == nil || ix.Partial != nil || !ix.byPaths {
		return true
	}
	for i := range ix.Pattern {
		if scope.Affects(ix.Pattern[i].Path) {
			return true
		}
	}
	return false
}

// Latencies returns the counters of the collection.
func (c *Collection) Latencies() *Latencies { return &c.shared.latencies }

// Traffic returns the counters of the collection.
func (c *Collection) Traffic() *Traffic { return &c.shared.traffic }

// Uses returns the counter of the index.
func (ix *Index) Uses() *Uses { return ix.uses }

// IDUses returns the counter of the _id index.
func (c *Collection) IDUses() *Uses { return c.shared.idUses }

// Scans returns the counter of scans of the collection.
func (c *Collection) Scans() *Scans { return &c.shared.scans }

// multikeyState is what is known of an index's array paths; all versions of the index share it.
type multikeyState struct {
	paths  atomic.Pointer[index.MultikeyPaths]
	arrays atomic.Pointer[index.PathSet] // those of a wildcard field
	mu     sync.Mutex                    // held while the paths grow
}

// CappedOptions are the limits of a capped collection.
type CappedOptions struct {
	// Size is how many bytes of documents there may be.
	Size int64
	// Max is how many documents there may be; 0 is any number.
	Max int64
}

// cappedState is what all forms of a capped collection share. Its numbers are guarded by the insert
// lock.
type cappedState struct {
	// next is the sequence of the next record, 0 before the first insert of this process. It only
	// grows.
	next int64
	// oldest is a sequence below which there is no record: a scan that begins there need not walk
	// over what storage still remembers of evicted records.
	oldest   int64
	arrivals arrival.Signal
}

// Scope tells which paths a change can have changed. Those are paths as indexes have them, without
// positions in arrays.
type Scope interface {
	Affects(path string) bool
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
