package table

import (
	"fmt"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// AddVirtual adds a collection that is not stored: the caller produces its documents. Lookup finds
// it if the catalog has no collection of that name, and the name cannot be used for a new
// collection. AddVirtual must be called before the first request.
func (s *Store) AddVirtual(db, name string, options bsonx.Doc) error {
	entry := &Entry{DB: db, Name: name, UUID: NewUUID(), Kind: catalog.KindVirtual, Options: options}
	attached, err := s.attach.collection(entry, nil)
	if err != nil {
		return fmt.Errorf("virtual collection %s: %w", entry.Namespace(), err)
	}
	entry.Attached = attached
	if s.virtual == nil {
		s.virtual = map[namespace]*Collection{}
	}
	s.virtual[namespace{db, name}] = attached
	return nil
}

// CheckNew fails if a new collection cannot have the name.
func (s *Store) CheckNew(db, name string) error {
	if err := catalog.CheckDatabaseName(db); err != nil {
		return err
	}
	if s.virtual[namespace{db, name}] != nil {
		return mongoerr.New(mongoerr.NamespaceExists, "Collection %s.%s already exists.", db, name)
	}
	return catalog.CheckNewCollection(db, name)
}
