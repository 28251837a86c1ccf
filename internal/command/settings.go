package command

import (
	"errors"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/read"
	"github.com/sheafdb/sheaf/internal/storage"
)

// SettingsDB is the database of the settings that outlive the process, as in MongoDB.
const SettingsDB = "config"

// setting returns a document that was saved, or nil if there is none.
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
