package command

import (
	"errors"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/read"
	"github.com/sheafdb/sheaf/internal/storage"
)

// SettingsDB is the database that stores settings, as in MongoDB.
const SettingsDB = "config"

// setting returns the document with the _id id of a collection in SettingsDB, or nil if it does not
// exist.
func (s opening) setting(collection, id string) (bsonx.Doc, error) {
	c := s.Store.Lookup(SettingsDB, collection)
	if c == nil || read.IsView(c) {
		return nil, nil
	}
	value, closer, err := s.Store.Engine().Get(c.RecordKey(nil, bsonx.String(id)))
	if errors.Is(err, storage.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return bsonx.Doc(value).Clone(), closer.Close()
}
