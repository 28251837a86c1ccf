package catalog

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/tidwall/btree"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/storage"
)

// Kind distinguishes collections and views.
type Kind string

// The kinds, with the names that listCollections uses.
const (
	KindCollection Kind = "collection"
	KindView       Kind = "view"
	// KindTimeseries is a view of the collection that stores its buckets.
	KindTimeseries Kind = "timeseries"
	// KindVirtual is a collection that is not stored, and in no catalog: its documents are made
	// when it is read.
	KindVirtual Kind = "virtual"
)

// Collection is a catalog entry. It is immutable: a change creates a new one. T is the type of the
// value that the Attach hook returns for an entry.
type Collection[T any] struct {
	ID   uint32 // storage identifier, never used again
	DB   string
	Name string
	UUID [16]byte
	Kind Kind
	// Options are the options as in listCollections: validator, capped, viewOn, pipeline and
	// others.
	Options bsonx.Doc
	// Indexes are the indexes without the _id index.
	Indexes []*Index
	// IDIndex is the _id index of a collection whose records are not clustered by _id. Otherwise it
	// is nil.
	IDIndex *Index
	// Version grows with every change of the entry.
	Version uint64
	// Attached is the value that the Attach hook has returned for the entry.
	Attached T
}

// Namespace returns "db.collection".
func (c *Collection[T]) Namespace() string { return c.DB + "." + c.Name }

// Index returns the index of that name, or nil.
func (c *Collection[T]) Index(name string) *Index {
	for _, ix := range c.Indexes {
		if ix.Name == name {
			return ix
		}
	}
	return nil
}

// Index is the catalog entry of an index. It is immutable.
type Index struct {
	ID   uint32 // storage identifier, never used again
	Name string
	// Spec is the whole specification as in listIndexes.
	Spec   bsonx.Doc
	Key    bsonx.Doc
	Unique bool
	// PrepareUnique means that new duplicates are refused, but existing duplicates may stay.
	PrepareUnique bool
	Sparse        bool
	Hidden        bool
	// PartialFilter is the filter of a partial index, or nil.
	PartialFilter bsonx.Doc
	// Ready is false while the index is being built. Writes maintain such an index, but reads must
	// not use it.
	Ready bool
	// Enforced is true if a unique index refuses duplicates. A build sets it before Ready.
	Enforced bool
	// Filled records that the entries of the index were written. If a ready index of a special
	// type, such as text, is not marked as filled, an older version of the server did not maintain
	// that type, and the index has no entries. An ordinary index can be older than the mark and
	// have entries without it.
	Filled bool
}

// NewIndex returns the entry for a specification. It reads the flags from spec.
func NewIndex(id uint32, spec bsonx.Doc) *Index {
	ix := &Index{
		ID: id, Name: spec.Lookup("name").Str(), Spec: spec, Key: spec.Lookup("key").Doc(),
		Unique: spec.Lookup("unique").Truthy(), PrepareUnique: spec.Lookup("prepareUnique").Truthy(),
		Sparse: spec.Lookup("sparse").Truthy(),
		Hidden: spec.Lookup("hidden").Truthy(),
	}
	if p := spec.Lookup("partialFilterExpression"); p.Type == bsonx.TypeDocument {
		ix.PartialFilter = p.Doc()
	}
	return ix
}

// NewIDIndex returns the entry of the _id index of a collection whose records are not clustered by
// _id. The index is ready from the start, because it is created together with its collection.
func NewIDIndex(id uint32) *Index {
	ix := NewIndex(id, bsonx.NewDoc("v", 2, "key", bsonx.NewDoc("_id", 1), "name", "_id_"))
	ix.Unique, ix.Ready, ix.Enforced, ix.Filled = true, true, true, true
	return ix
}

// Attach compiles an entry. old is the entry that it replaces, or nil. An error cancels the change.
type Attach[T any] func(entry, old *Collection[T]) (T, error)

// Catalog is the set of all entries. It is safe for concurrent use.
type Catalog[T any] struct {
	engine storage.Engine
	attach Attach[T]

	mu     sync.Mutex // held during a change
	next   uint32
	master *btree.BTreeG[*item] // changed only under mu

	// published is a copy of master. It is never changed.
	published atomic.Pointer[btree.BTreeG[*item]]
}

// Open loads the catalog of a store.
func Open[T any](engine storage.Engine, attach Attach[T]) (*Catalog[T], error) {
	c := &Catalog[T]{engine: engine, attach: attach, next: 1, master: newTree()}
	if err := c.load(); err != nil {
		return nil, fmt.Errorf("load catalog: %w", err)
	}
	c.published.Store(c.master.Copy())
	return c, nil
}

// item is the node of an entry in the tree. Neither item nor the tree is generic: a look-up, which
// every command does, takes twice as long if the compiler shares the comparison between types.
type item struct {
	db, name string
	entry    any // *Collection[T]
}

func itemOf[T any](e *Collection[T]) *item { return &item{e.DB, e.Name, e} }

// newTree returns a tree without its own locks: published trees do not change, and c.mu guards the
// master.
func newTree() *btree.BTreeG[*item] {
	return btree.NewBTreeGOptions(lessItem, btree.Options{NoLocks: true})
}

func lessItem(a, b *item) bool {
	if a.db != b.db {
		return a.db < b.db
	}
	return a.name < b.name
}

// View is the state of a catalog at one moment. It never changes. Two views of the same state are
// equal (==).
type View[T any] struct{ tree *btree.BTreeG[*item] }

// View returns the newest state.
func (c *Catalog[T]) View() View[T] { return View[T]{c.published.Load()} }

// Lookup returns the entry of a namespace, or nil.
func (v View[T]) Lookup(db, name string) *Collection[T] {
	entry, _ := find(v.tree, db, name).(*Collection[T])
	return entry
}

func find(tree *btree.BTreeG[*item], db, name string) any {
	probe := probes.Get().(*item)
	probe.db, probe.name = db, name
	found, ok := tree.Get(probe)
	probe.db, probe.name = "", ""
	probes.Put(probe)
	if !ok {
		return nil
	}
	return found.entry
}

// Lookup returns the newest entry of a namespace, or nil.
func (c *Catalog[T]) Lookup(db, name string) *Collection[T] { return c.View().Lookup(db, name) }

// probes are items for searching the tree, so that a look-up does not allocate.
var probes = sync.Pool{New: func() any { return new(item) }}

// Collections returns the entries of a database, sorted by name.
func (c *Catalog[T]) Collections(db string) []*Collection[T] {
	var out []*Collection[T]
	c.published.Load().Ascend(&item{db: db}, func(i *item) bool {
		if i.db != db {
			return false
		}
		out = append(out, i.entry.(*Collection[T]))
		return true
	})
	return out
}

// ByUUID returns the collection with a UUID, or nil. It reads every entry.
func (c *Catalog[T]) ByUUID(id [16]byte) (found *Collection[T]) {
	c.published.Load().Scan(func(i *item) bool {
		if e := i.entry.(*Collection[T]); e.Kind == KindCollection && e.UUID == id {
			found = e
		}
		return found == nil
	})
	return found
}

// All returns all entries, sorted by database and name.
func (c *Catalog[T]) All() []*Collection[T] {
	var out []*Collection[T]
	c.published.Load().Scan(func(i *item) bool {
		out = append(out, i.entry.(*Collection[T]))
		return true
	})
	return out
}

// Databases returns the sorted names of the databases.
func (c *Catalog[T]) Databases() []string {
	var out []string
	c.published.Load().Scan(func(i *item) bool {
		if len(out) == 0 || out[len(out)-1] != i.db {
			out = append(out, i.db)
		}
		return true
	})
	return out
}
