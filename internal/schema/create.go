package schema

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/table"
)

// Create creates a collection or a view. It fails with NamespaceExists if the name is taken.
func Create(s *table.Store, db, name string, kind catalog.Kind, options bsonx.Doc) (*table.Collection, error) {
	return CreateNew(s, &NewCollection{DB: db, Name: name, Kind: kind, Options: options})
}

// NewCollection describes the collection or view that CreateNew creates.
type NewCollection struct {
	DB, Name string
	Kind     catalog.Kind
	Options  bsonx.Doc
	// Indexes are the specifications of the collection's first indexes.
	Indexes []bsonx.Doc
	// Check, which may be nil, may refuse the collection. No other change of the catalog happens
	// between the check and the creation.
	Check func() error
}

// CreateNew creates a collection or a view with its first indexes, in one change of the catalog. It
// fails with NamespaceExists if the name is taken.
func CreateNew(s *table.Store, n *NewCollection) (*table.Collection, error) {
	if err := s.CheckNew(n.DB, n.Name); err != nil {
		return nil, err
	}
	s.Interleaved()
	var entry *table.Entry
	err := s.Define(mirrored(func(ch *table.CatalogChange) error {
		if ch.Lookup(n.DB, n.Name) != nil {
			return mongoerr.New(mongoerr.NamespaceExists, "Collection %s.%s already exists.", n.DB, n.Name)
		}
		if err := s.Catalog().CheckNewDatabase(n.DB); err != nil {
			return err
		}
		if n.Check != nil {
			if err := n.Check(); err != nil {
				return err
			}
		}
		entry = table.NewEntry(ch.NewID, n.DB, n.Name, n.Kind, n.Options)
		for _, spec := range n.Indexes {
			ix := catalog.NewIndex(ch.NewID(), spec.Clone())
			table.MarkReady(ix)
			entry.Indexes = append(entry.Indexes, ix)
		}
		ch.Put(entry)
		if err := logCreate(s, ch, entry); err != nil {
			return err
		}
		return logIndexes(s, ch, entry, entry.Indexes)
	}))
	if err != nil {
		return nil, err
	}
	return entry.Attached, nil
}

// Ensure returns a collection. It creates the collection if it does not exist.
func Ensure(s *table.Store, db, name string) (*table.Collection, error) {
	var c *table.Collection
	err := table.RetryOn(errTargetChanged, func() (err error) {
		if c = s.Lookup(db, name); c != nil {
			return nil
		}
		c, err = Create(s, db, name, catalog.KindCollection, bsonx.Empty)
		if mongoerr.CodeOf(err) == mongoerr.NamespaceExists {
			return errTargetChanged // another client has just created the collection
		}
		return err
	})
	return c, err
}
