package command

import (
	"context"
	"errors"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/read"
	"github.com/sheafdb/sheaf/internal/schema"
	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/table"
)

// Settings that live on beyond the process are documents of the database config, as in MongoDB.
const settingsDB = "config"

// saveSetting makes a document durable; one with its _id is replaced. The request learns the stamp of
// the commit.
func (r *Request) saveSetting(ctx context.Context, collection string, doc bsonx.Doc) error {
	s := r.Service
	if s.Store == nil {
		return nil
	}
	for {
		c, err := schema.Ensure(s.Store, settingsDB, collection)
		if err != nil {
			return err
		}
		stamp, err := s.replaceSetting(ctx, c, doc)
		if !errors.Is(err, table.ErrDropped) {
			r.Op.Stamp = max(r.Op.Stamp, stamp)
			return err
		}
	}
}

func (s *Service) replaceSetting(ctx context.Context, c *table.Collection, doc bsonx.Doc) (storage.Stamp, error) {
	w, err := s.Store.BeginWrite(c)
	if err != nil {
		return 0, err
	}
	defer w.Close()
	key := w.Collection().RecordKey(nil, doc.Lookup("_id"))
	old, err := w.Lock(ctx, key, nil)
	switch {
	case err != nil:
	case old == nil:
		err = w.Insert(ctx, doc)
	default:
		err = w.Update(ctx, key, old, doc, table.Replacement)
	}
	if err == nil {
		err = w.Commit(storage.Durable)
	}
	return w.Stamp(), err
}

// setting returns a document that was saved, nil where there is none.
func (s *Service) setting(collection, id string) (bsonx.Doc, error) {
	c := s.Store.Lookup(settingsDB, collection)
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
