package table

import (
	"io"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/storage"
)

// View is a state of the collections that reads see. Newest changes with every commit. Txn, Past
// and Snapshot are fixed: commits of others do not change them.
type View interface {
	// Lookup returns a collection or view by name, or nil if it does not exist. A fixed View fails
	// if the collection was dropped or renamed after the time of the View.
	Lookup(db, name string) (*Collection, error)
	// Current returns the newest version of a collection from Lookup, whatever its name is now. It
	// returns nil after a drop. A fixed View returns the collection itself.
	Current(c *Collection) *Collection
	// IsFixed reports whether the View is fixed.
	IsFixed() bool
	// Counter returns a function that returns the number of records of a collection without a scan.
	// A fixed View returns nil, because the counters belong to the newest state.
	Counter(c *Collection) func() (int64, error)
	// Get reads one key, as storage.Reader.Get does, without taking a snapshot.
	Get(key []byte) (value []byte, closer io.Closer, err error)
	// Pin returns the current state for reading. Newest takes a snapshot.
	Pin() Pinned
}

// Pinned is the state of a View at one moment. The caller must close it.
type Pinned struct {
	storage.Reader
	// Visible is the stamp up to which the state has all stamped records.
	Visible storage.Stamp
	// Own is the snapshot that Pin took, or nil for a fixed View.
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

// Transaction is the View of a multi-document transaction: a Txn, or a Past, which refuses to
// write. Only one goroutine at a time may use it. It ends with Commit or Abort.
type Transaction interface {
	Writable
	// Ensure returns a collection and creates it if it does not exist.
	Ensure(db, name string) (*Collection, error)
	// Create creates a collection. It fails with NamespaceExists if the name is taken.
	Create(db, name string, options bsonx.Doc) (*Collection, error)
	// CreateIndexes creates indexes on an empty collection that the transaction has created.
	CreateIndexes(c *Collection, specs []bsonx.Doc) error
	// Remember is like Writer.Remember for the transaction as a whole. It does nothing if the
	// transaction has not changed anything.
	Remember(key, value []byte) error
	// Commit makes the changes visible together, and ends the transaction.
	Commit(durability storage.Durability) error
	// Abort ends the transaction and undoes its changes.
	Abort()
	// Stamp returns the stamp that Commit has assigned, or 0.
	Stamp() storage.Stamp
}

// fixed implements the methods that are the same for all fixed Views.
type fixed struct{}

// Current implements View.
func (fixed) Current(c *Collection) *Collection { return c }

// IsFixed implements View.
func (fixed) IsFixed() bool { return true }

// Counter implements View.
func (fixed) Counter(*Collection) func() (int64, error) { return nil }

// lookupIn returns a collection from an older state of the catalog, or a virtual collection. It
// fails if the collection was dropped or renamed after that state.
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
