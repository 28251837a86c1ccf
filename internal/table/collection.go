package table

import (
	"context"
	"encoding/binary"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/index"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/keystring"
	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/timeseries"
)

// The key space. A record's key is its collection's prefix and its record id; an index entry's key is its index's prefix,
// keystring of the fields, the record id. The record id is keystring(_id), in a capped collection keystring(insertion
// sequence). Identifiers of collections and indexes are never used again after a drop.
//
//	0x10 | collection id (4 bytes, big endian) | record id                 -> document
//	0x20 | index id (4 bytes, big endian) | keystring(fields) | record id  -> type bits of the fields and of _id
//	0x03 | collection id (4 bytes, big endian)                                  -> counter: records, bytes
//	0x04 | index id (4 bytes, big endian)                                       -> multikey paths
//	0x04 | index id (4 bytes, big endian) | 0x01 | path                         -> nothing: a wildcard index met an array there
//	0x04 | index id (4 bytes, big endian) | 0xFF                                -> nothing: it met more than it remembers
//	0x05 ...                                                                    -> what retryable writes did; package retryable
const (
	counterSpace  = 0x03
	multikeySpace = 0x04
	recordSpace   = 0x10
	logSpace      = 0x18 // records of the log of changes, away from the others: storage keeps kinds of keys in tables of their own
	indexSpace    = 0x20
	prefixLen     = 5
)

// IsRecord reports whether a key of the store is that of a record.
func IsRecord(key []byte) bool { return len(key) > 0 && key[0] == recordSpace }

// Predicate tells which documents a partial index covers or a validator accepts.
type Predicate interface {
	Match(doc bsonx.Doc) (bool, error)
}

// Collection is the compiled form of a collection's catalog entry: what reads and writes of it need. It is
// immutable; a change of the catalog makes a new one.
type Collection struct {
	*catalog.Collection
	namespace string
	// Indexes are all indexes, also those that are still being built, in catalog order without the _id index
	// and the copies of a rebuild.
	Indexes []*Index
	// IDIndex is nil where records are clustered by _id: the index then has no entries of its own.
	IDIndex *Index
	// Capped is nil for an ordinary collection. A capped one is clustered by insertion and has an IDIndex.
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
	activity   *activity
}

// Namespace returns "db.collection".
func (c *Collection) Namespace() string { return c.namespace }

// withRebuilds returns the indexes that the catalog entry has.
func (c *Collection) withRebuilds() []*Index { return slices.Concat(c.Indexes, c.rebuilds) }

// NotCreated returns what a collection is before it is created: empty and without options.
func NotCreated(db, name string) *Collection {
	entry := &catalog.Collection{DB: db, Name: name, Kind: catalog.KindCollection, Options: bsonx.Empty}
	return &Collection{Collection: entry, namespace: entry.Namespace()}
}

// Validator checks documents before they are written.
type Validator interface {
	// Accepts reports whether a stored document satisfies the validator.
	Accepts(doc bsonx.Doc) bool
	// Check returns the error for a new version of a document; old is nil for an insert. It ends with the operation.
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

// changed returns a channel that is closed when another form than the newest one of now is published.
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

// Multikey returns which path components were arrays; the result must not be changed. It only ever grows.
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

// WithPattern returns the index with its entries read by another pattern of as many fields: a wildcard index has the path
// that is asked for where its own pattern has the wildcard.
func (ix *Index) WithPattern(p index.Pattern) *Index {
	out := *ix
	out.Pattern = p
	return &out
}

// Kind returns the kind of the index.
func (ix *Index) Kind() index.Kind { return index.KindOf(ix.Key) }

// Generator returns what generates the keys of the index; nil with Pattern.
func (ix *Index) Generator() index.Generator { return ix.keygen }

// Prefix returns the key prefix of the index's entries.
func (ix *Index) Prefix() []byte { return prefix(indexSpace, ix.ID) }

// RecordPrefix returns the key prefix of the collection's records.
func (c *Collection) RecordPrefix() []byte { return prefix(c.space(), c.ID) }

// space is the first byte of the keys of the collection's records.
func (c *Collection) space() byte {
	if c.Oplog {
		return logSpace
	}
	return recordSpace
}

// RecordKey appends the key of the record with that _id, where records are clustered by _id.
func (c *Collection) RecordKey(dst []byte, id bsonx.Value) []byte {
	dst, err := c.RecordKeyFor(dst, id, nil)
	if err != nil {
		panic(err) // without an operation nothing can end
	}
	return dst
}

// RecordKeyFor is RecordKey for an operation. It fails where the operation ends, or has too little
// memory, before the key of a large _id is made.
func (c *Collection) RecordKeyFor(dst []byte, id bsonx.Value, r *interrupt.Running) ([]byte, error) {
	id, err := c.Collation.Fold(id, r)
	if err != nil {
		return dst, err
	}
	dst = append(dst, c.space())
	dst = binary.BigEndian.AppendUint32(dst, c.ID)
	return keystring.Append(dst, id, false), nil
}

// RecordKeyOfEntry appends the key of the record that an index entry points to. entryKey is the entry's whole key.
func (c *Collection) RecordKeyOfEntry(dst []byte, ix *Index, entryKey []byte) ([]byte, error) {
	n, err := ix.fieldsLen(entryKey)
	if err != nil {
		return nil, err
	}
	dst = append(dst, c.space())
	dst = binary.BigEndian.AppendUint32(dst, c.ID)
	return append(dst, entryKey[n:]...), nil
}

// fieldsLen returns the length of an entry key up to the record id.
func (ix *Index) fieldsLen(entryKey []byte) (int, error) {
	n := prefixLen
	for _, f := range ix.Pattern {
		size, err := keystring.Skip(entryKey[n:], f.Desc)
		if err != nil {
			return 0, err
		}
		n += size
	}
	return n, nil
}

// refusesDuplicates reports whether writers refuse values that another record has.
func (ix *Index) refusesDuplicates() bool { return ix.Enforced && (ix.Unique || ix.PrepareUnique) }

// covers reports whether the index has entries for doc.
func (ix *Index) covers(doc bsonx.Doc) (bool, error) {
	if ix.Partial == nil {
		return true, nil
	}
	return ix.Partial.Match(doc)
}

// dependsOn reports whether a change in scope can change the entries of a document. Of an index with a condition, and of those that
// look further than at their paths, that is not known.
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

func prefix(space byte, id uint32) []byte {
	return binary.BigEndian.AppendUint32([]byte{space}, id)
}

// PrefixEnd returns the first key after all keys with that prefix.
func PrefixEnd(prefix []byte) []byte {
	end := append([]byte(nil), prefix...)
	for i := len(end) - 1; i >= 0; i-- {
		end[i]++
		if end[i] != 0 {
			return end[:i+1]
		}
	}
	return nil
}
