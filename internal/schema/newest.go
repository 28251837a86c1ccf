package schema

import "github.com/sheafdb/sheaf/internal/table"

// Writable is a table.Writable whose statements may create their collection: a table.Transaction,
// or Newest.
type Writable interface {
	table.Writable
	// Ensure returns a collection. It creates the collection if it does not exist.
	Ensure(db, name string) (*table.Collection, error)
}

// Newest is table.Newest with Ensure.
type Newest struct{ table.Newest }

// Ensure implements Writable.
func (n Newest) Ensure(db, name string) (*table.Collection, error) {
	return Ensure(n.Store(), db, name)
}
