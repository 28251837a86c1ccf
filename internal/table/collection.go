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

// Predicate decides which documents a partial index covers.
type Predicate interface {
	Match(doc bsonx.Doc) (bool, error)
}

// Entry is a collection's entry in the catalog.
type Entry = catalog.Collection[*Collection]

// CatalogChange is a change of the catalog.
type CatalogChange = catalog.Change[*Collection]

// CatalogView is the state of the catalog at one moment.
type CatalogView = catalog.View[*Collection]

// Collection is the compiled catalog entry of a collection. Reads and writes take from it
// everything that they need to know about the collection. It is immutable: a change of the catalog
// publishes a new version.
type Collection struct {
	*catalog.Collection[*Collection]
	namespace string
	// Indexes are all indexes in catalog order, including unfinished ones. The _id index and the
	// indexes of a rebuild are left out.
	Indexes []*Index
	// IDIndex is nil if the records are clustered by _id. Then the records are the entries of the
	// _id index.
	IDIndex *Index
	// Capped is nil unless the collection is capped. The records of a capped collection are
	// clustered by insertion sequence, and it has an IDIndex.
	Capped *CappedOptions
	// Oplog is true for the oplog, which is capped, clustered by ts, and has no IDIndex.
	Oplog bool
	// PreImages says that the oplog also gets the document before each change.
	PreImages bool
	// Collation is the collation of _id, and the default of operations and indexes. nil compares
	// strings by their bytes.
	Collation *collation.Collator
	// Timeseries is set if the records are buckets of a time-series collection; otherwise it is
	// nil.
	Timeseries *timeseries.Options
	// Validator is the compiled validator, or nil.
	Validator Validator

	// rebuilds are the indexes that are being rebuilt and will replace others.
	rebuilds []*Index
	// maintained are the indexes that writers update: IDIndex, Indexes and rebuilds.
	maintained []*Index
	shared     *shared
	activity   *changelog.Activity
}

// Namespace returns "db.collection".
func (c *Collection) Namespace() string { return c.namespace }

// Rebuilds returns the indexes that are being rebuilt and will replace others.
func (c *Collection) Rebuilds() []*Index { return c.rebuilds }

// Changed returns a channel that is closed when the next version of the collection is published, or
// when the collection is dropped.
func (c *Collection) Changed() <-chan struct{} { return c.shared.changed() }

// AllIndexes returns all indexes in the catalog entry, including indexes of a rebuild. The _id
// index is not among them.
func (c *Collection) AllIndexes() []*Index { return slices.Concat(c.Indexes, c.rebuilds) }

// NotCreated returns a collection that stands for one that does not exist: empty and without
// options.
func NotCreated(db, name string) *Collection {
	entry := &Entry{DB: db, Name: name, Kind: catalog.KindCollection, Options: bsonx.Empty}
	return &Collection{Collection: entry, namespace: entry.Namespace()}
}

// Validator checks documents before they are written.
type Validator interface {
	// Accepts reports whether a stored document satisfies the validator.
	Accepts(doc bsonx.Doc) bool
	// Check returns the error for a new version of a document, or nil if the validator accepts it.
	// old is nil for an insert. Check stops with an error when the operation ends.
	Check(ctx context.Context, old, doc bsonx.Doc) error
}

// shared is the state that all versions of a collection have in common.
type shared struct {
	gate    sync.RWMutex
	current atomic.Pointer[Collection] // the newest version; nil after a drop
	counter []byte                     // storage key of the counter
	capped  *cappedState               // nil unless the collection is capped
	order   *storage.Order             // nil unless the collection is the oplog
	idUses  *Uses
	scans   Scans

	latencies Latencies
	traffic   Traffic

	mu       sync.Mutex
	watchers chan struct{} // closed at the next change; nil if nobody watches
}

// publish makes c the newest version and wakes the watchers. c is nil after a drop.
func (s *shared) publish(c *Collection) {
	s.current.Store(c)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.watchers != nil {
		close(s.watchers)
		s.watchers = nil
	}
}

// changed returns a channel that is closed when the next version is published, or after a drop.
func (s *shared) changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.watchers == nil {
		s.watchers = make(chan struct{})
	}
	return s.watchers
}

// Index is the compiled form of an index. It is immutable, except for its multikey state.
type Index struct {
	*catalog.Index
	// Pattern lists the fields that the keys of entries consist of.
	Pattern index.Pattern
	// Collation replaces the strings in entries by their collation keys. nil keeps the strings.
	Collation *collation.Collator
	// Partial decides which documents have entries. nil means all documents.
	Partial Predicate

	keygen   index.Generator
	byPaths  bool     // entries depend only on the values at the paths of Pattern
	measured []string // of an index on buckets: the fields that must not have arrays
	multikey *multikeyState
	uses     *Uses
}

// Multikey returns which path components were arrays in some document. The caller must not change
// the result. The set only grows.
func (ix *Index) Multikey() index.MultikeyPaths {
	if m := ix.multikey.paths.Load(); m != nil {
		return *m
	}
	return nil
}

// ArrayPaths returns the paths at which a wildcard index has met arrays. The set only grows.
func (ix *Index) ArrayPaths() *index.PathSet { return ix.multikey.arrays.Load() }

// coversPaths reports whether the known array paths of the index include the array paths of keys.
func (ix *Index) coversPaths(keys *index.Keys) bool {
	return ix.Multikey().Covers(keys.Multikey()) && ix.ArrayPaths().Covers(keys.ArrayPaths())
}

// WithPattern returns a copy of the index whose entries are decoded by the pattern p, which must
// have as many fields. A query on a wildcard index uses it to put the queried path in place of the
// wildcard.
func (ix *Index) WithPattern(p index.Pattern) *Index {
	out := *ix
	out.Pattern = p
	return &out
}

// Kind returns the kind of the index.
func (ix *Index) Kind() index.Kind { return index.KindOf(ix.Key) }

// Generator returns the generator of the index's keys. It is nil if the keys are generated from
// Pattern.
func (ix *Index) Generator() index.Generator { return ix.keygen }

// refusesDuplicates reports whether writers refuse values that another record already has.
func (ix *Index) refusesDuplicates() bool { return ix.Enforced && (ix.Unique || ix.PrepareUnique) }

// covers reports whether the index has entries for doc.
func (ix *Index) covers(doc bsonx.Doc) (bool, error) {
	if ix.Partial == nil {
		return true, nil
	}
	return ix.Partial.Match(doc)
}

// dependsOn reports whether a change within scope can change a document's entries. It returns true
// for a partial index, and for an index whose keys depend on more than its paths.
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

// Latencies returns the collection's counters of operations by duration.
func (c *Collection) Latencies() *Latencies { return &c.shared.latencies }

// Traffic returns the collection's counters for the command top.
func (c *Collection) Traffic() *Traffic { return &c.shared.traffic }

// Uses returns the counter of operations that used the index.
func (ix *Index) Uses() *Uses { return ix.uses }

// IDUses returns the counter of operations that used the _id index.
func (c *Collection) IDUses() *Uses { return c.shared.idUses }

// Scans returns the counter of scans of the whole collection.
func (c *Collection) Scans() *Scans { return &c.shared.scans }

// multikeyState holds the array paths of an index. All versions of the index share it.
type multikeyState struct {
	paths  atomic.Pointer[index.MultikeyPaths]
	arrays atomic.Pointer[index.PathSet] // array paths of a wildcard index
	mu     sync.Mutex                    // held while the paths grow
}

// CappedOptions are the limits of a capped collection.
type CappedOptions struct {
	// Size is the largest total size of the documents, in bytes.
	Size int64
	// Max is the largest number of documents; 0 means no limit.
	Max int64
}

// cappedState is the state that all versions of a capped collection share. The insert lock guards
// its numbers.
type cappedState struct {
	// next is the sequence of the next record. It is 0 before the first insert of this process, and
	// only grows.
	next int64
	// oldest is a lower bound of the sequences of existing records. A scan that begins there skips
	// the tombstones of evicted records.
	oldest   int64
	arrivals arrival.Signal
}

// Scope tells which paths a change may affect. The paths have the form that indexes use, without
// array positions.
type Scope interface {
	Affects(path string) bool
}

// IndexByID returns the maintained index with an identifier, or nil. c may be nil.
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
