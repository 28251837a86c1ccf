package table

import "io"

// Newest is the View of the newest committed state. It is safe for concurrent use.
type Newest struct{ store *Store }

// Newest returns the View of the newest committed state.
func (s *Store) Newest() Newest { return Newest{s} }

// Store returns the store whose state this is.
func (n Newest) Store() *Store { return n.store }

// Lookup implements View. It never fails.
func (n Newest) Lookup(db, name string) (*Collection, error) { return n.store.Lookup(db, name), nil }

// Current implements View.
func (n Newest) Current(c *Collection) *Collection { return n.store.Current(c) }

// IsFixed implements View.
func (n Newest) IsFixed() bool { return false }

// Counter implements View.
func (n Newest) Counter(c *Collection) func() (int64, error) {
	return func() (int64, error) {
		counter, err := n.store.Count(c)
		return counter.Count, err
	}
}

// Get implements View.
func (n Newest) Get(key []byte) (value []byte, closer io.Closer, err error) {
	return n.store.engine.Get(key)
}

// Pin implements View. It reads the stamp before it takes the snapshot, so that the snapshot has
// all records up to the stamp.
func (n Newest) Pin() Pinned {
	visible := n.store.engine.Order().Visible()
	snap := n.store.engine.NewSnapshot()
	return Pinned{Reader: snap, Visible: visible, Own: snap}
}

// BeginWrite implements Writable.
func (n Newest) BeginWrite(c *Collection) (*Writer, error) { return n.store.BeginWrite(c) }
