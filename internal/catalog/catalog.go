package catalog

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/tidwall/btree"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/storage"
)

// Kind tells collections and views apart.
type Kind string

// The kinds, named as listCollections does.
const (
	KindCollection Kind = "collection"
	KindView       Kind = "view"
	// KindTimeseries is a view of the collection that holds its buckets.
	KindTimeseries Kind = "timeseries"
	// KindVirtual is a collection that is not stored, and in no catalog: its documents are made when it is read.
	KindVirtual Kind = "virtual"
)

// Collection is a catalog entry. It is immutable: a change makes a new one.
type Collection struct {
	ID   uint32 // storage identifier, never used again
	DB   string
	Name string
	UUID [16]byte
	Kind Kind
	// Options is what listCollections shows under options: validator, capped, viewOn, pipeline, ….
	Options bsonx.Doc
	// Indexes does not hold the _id index.
	Indexes []*Index
	// IDIndex is the _id index of a collection whose records are not clustered by _id, or nil.
	IDIndex *Index
	// Version grows with every change of the entry.
	Version uint64
	// Attached is what the Attach hook made of the entry.
	Attached any
}

// Namespace returns "db.collection".
func (c *Collection) Namespace() string { return c.DB + "." + c.Name }

// Index returns the index of that name, or nil.
func (c *Collection) Index(name string) *Index {
	for _, ix := range c.Indexes {
		if ix.Name == name {
			return ix
		}
	}
	return nil
}

// Index is an index's catalog entry. It is immutable.
type Index struct {
	ID   uint32 // storage identifier, never used again
	Name string
	// Spec is the whole specification as listIndexes shows it.
	Spec   bsonx.Doc
	Key    bsonx.Doc
	Unique bool
	// PrepareUnique refuses new duplicates, while those that are there may stay.
	PrepareUnique bool
	Sparse        bool
	Hidden        bool
	// PartialFilter is nil for an index over all documents.
	PartialFilter bsonx.Doc
	// Ready is false while the index is being built: writes maintain it, reads must not use it.
	Ready bool
	// Enforced is true once a unique index that is being built refuses duplicates.
	Enforced bool
	// Filled is true once the index has entries. A complete index without is of a type that was not maintained when it was
	// made. Ordinary indexes from before there was the mark have entries without it.
	Filled bool
}

// NewIndex returns the entry that a specification describes. Its flags are read from spec.
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

// NewIDIndex returns the entry of the _id index of a collection whose records are not clustered by _id. It is there from
// the beginning.
func NewIDIndex(id uint32) *Index {
	ix := NewIndex(id, bsonx.NewDoc("v", 2, "key", bsonx.NewDoc("_id", 1), "name", "_id_"))
	ix.Unique, ix.Ready, ix.Enforced, ix.Filled = true, true, true, true
	return ix
}

// Attach compiles an entry; old is the entry that it replaces, or nil. An error refuses the change.
type Attach func(entry, old *Collection) (any, error)

// Catalog is the set of all entries. It is safe for concurrent use.
type Catalog struct {
	engine storage.Engine
	attach Attach

	mu     sync.Mutex // held by the one change under way
	next   uint32
	master *btree.BTreeG[*Collection] // changed under mu only

	// published is a copy of master that no one changes any more.
	published atomic.Pointer[btree.BTreeG[*Collection]]
}

// Open loads the catalog of a store.
func Open(engine storage.Engine, attach Attach) (*Catalog, error) {
	c := &Catalog{engine: engine, attach: attach, next: 1, master: newTree()}
	if err := c.load(); err != nil {
		return nil, fmt.Errorf("load catalog: %w", err)
	}
	c.published.Store(c.master.Copy())
	return c, nil
}

// newTree returns a tree without locks: published ones do not change, and the master has c.mu.
func newTree() *btree.BTreeG[*Collection] {
	return btree.NewBTreeGOptions(lessEntry, btree.Options{NoLocks: true})
}

func lessEntry(a, b *Collection) bool {
	if a.DB != b.DB {
		return a.DB < b.DB
	}
	return a.Name < b.Name
}

// View is the state of a catalog at one moment. It never changes; views of the same state are equal.
type View struct{ tree *btree.BTreeG[*Collection] }

// View returns the newest state.
func (c *Catalog) View() View { return View{c.published.Load()} }

// Lookup returns the entry of a namespace, or nil.
func (v View) Lookup(db, name string) *Collection {
	probe := probes.Get().(*Collection)
	probe.DB, probe.Name = db, name
	entry, _ := v.tree.Get(probe)
	probe.DB, probe.Name = "", ""
	probes.Put(probe)
	return entry
}

// Lookup returns the newest entry of a namespace, or nil.
func (c *Catalog) Lookup(db, name string) *Collection { return c.View().Lookup(db, name) }

// probes are entries to search the tree with; a look-up is on every command's path and must not allocate.
var probes = sync.Pool{New: func() any { return new(Collection) }}

// Collections returns the entries of a database by name.
func (c *Catalog) Collections(db string) []*Collection {
	var out []*Collection
	c.published.Load().Ascend(&Collection{DB: db}, func(e *Collection) bool {
		if e.DB != db {
			return false
		}
		out = append(out, e)
		return true
	})
	return out
}

// ByUUID returns the collection with a UUID, or nil. It looks at every entry.
func (c *Catalog) ByUUID(id [16]byte) (found *Collection) {
	c.published.Load().Scan(func(e *Collection) bool {
		if e.Kind == KindCollection && e.UUID == id {
			found = e
		}
		return found == nil
	})
	return found
}

// All returns all entries by database and name.
func (c *Catalog) All() []*Collection {
	var out []*Collection
	c.published.Load().Scan(func(e *Collection) bool {
		out = append(out, e)
		return true
	})
	return out
}

// Databases returns the names of the databases in order.
func (c *Catalog) Databases() []string {
	var out []string
	c.published.Load().Scan(func(e *Collection) bool {
		if len(out) == 0 || out[len(out)-1] != e.DB {
			out = append(out, e.DB)
		}
		return true
	})
	return out
}
