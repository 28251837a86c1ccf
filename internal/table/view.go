package table

import (
	"io"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/storage"
)

// View is a state of the collections that reads see. Newest changes with every commit. Txn, Past
// and Snapshot are fixed: what others commit does not change them.
type View interface {
	// Lookup returns a collection or view by name, or nil. A fixed View fails if the collection was
	// dropped or renamed since.
	Lookup(db, name string) (*Collection, error)
	// Current returns the version that a collection from Lookup has now, under whatever name, or
	// nil after a drop. A fixed View returns the collection itself.
	Current(c *Collection) *Collection
	// IsFixed reports whether the View is fixed.
	IsFixed() bool
	// Counter returns a function that counts the records of a collection without a scan. It returns
	// nil for a fixed View, because the counters belong to the newest state.
	Counter(c *Collection) func() (int64, error)
	// Get reads one key, as storage.Reader.Get does. It takes no snapshot.
	Get(key []byte) (value []byte, closer io.Closer, err error)
	// Pin returns the state of this moment to read from. Newest takes a snapshot for it.
	Pin() Pinned
}

// Pinned is the state of a View at one moment. Close must follow.
type Pinned struct {
	storage.Reader
	// Visible is the stamp up to which the state has all stamped records.
	Visible storage.Stamp
	// Own is the snapshot that Pin took, nil for a fixed View.
	Own storage.Snapshot
}

// Close closes the snapshot that Pin took, if it took one.
func (p Pinned) Close() error {
	if p.Own == nil {
		return nil
	}
	return p.Own.Close()
}

// Writable is a View that statements read and change: Newest, or a Transaction.
type Writable interface {
	View
	// BeginWrite returns a writer of a collection that Lookup or Create has returned.
	BeginWrite(c *Collection) (*Writer, error)
}

// Transaction is a View that a multi-document transaction reads and writes: a Txn, or a Past, which
// refuses to write. It is used by one goroutine at a time, and ends with Commit or Abort.
type Transaction interface {
	Writable
	// Ensure returns a collection and creates it if it does not exist.
	Ensure(db, name string) (*Collection, error)
	// Create creates a collection. It fails with NamespaceExists if the name is taken.
	Create(db, name string, options bsonx.Doc) (*Collection, error)
	// CreateIndexes creates indexes on an empty collection that the transaction has created.
	CreateIndexes(c *Collection, specs []bsonx.Doc) error
	// Remember is Writer.Remember for the transaction as a whole, if it has changed anything.
	Remember(key, value []byte) error
	// Commit makes the changes visible together, and ends the transaction.
	Commit(durability storage.Durability) error
	// Abort ends the transaction without its changes.
	Abort()
	// Stamp returns the stamp that Commit gave, 0 for none.
	Stamp() storage.Stamp
}

// fixed has the methods that are the same for all fixed Views.
type fixed struct{}

// Current implements View.
func (fixed) Current(c *Collection) *Collection { return c }

// IsFixed implements View.
func (fixed) IsFixed() bool { return true }

// Counter implements View.
func (fixed) Counter(*Collection) func() (int64, error) { return nil }

// lookupIn returns a collection of an older state of the catalog, or a virtual collection.
func lookupIn(s *Store, view CatalogView, db, name string) (*Collection, error) {
	entry := view.Lookup(db, name)
	if entry == nil {
		return s.virtual[namespace{db, name}], nil
	}
	c := entry.Attached
	current := c.shared.current.Load()
	if current == nil || current.Name != name || current.DB != db {
		return nil, mongoerr.New(mongoerr.SnapshotUnavailable, "Unable to read from a snapshot due to pending collection catalog "+
			"changes; please retry the operation. The collection %s.%s was dropped or renamed", db, name)
	}
	return c, nil
}
