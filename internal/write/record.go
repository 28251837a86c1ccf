package write

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/table"
)

// DeleteRecord removes one record in its own transaction if match returns true. match is called
// with the record's document while the record is locked. DeleteRecord fails with table.ErrDropped
// if c is not the newest version of its collection: the reason for the deletion may no longer
// exist.
func (e *Executor) DeleteRecord(
	ctx context.Context, c *table.Collection, key []byte, match func(bsonx.Doc) (bool, error),
) (deleted bool, err error) {
	t := getScratch()
	defer putScratch(t)
	err = e.retry(ctx, Options{View: e.store.Newest()}, func() error {
		deleted = false
		w, err := e.store.BeginWrite(c)
		if err != nil {
			return err
		}
		defer w.Close()
		if w.Collection() != c {
			return table.ErrDropped
		}
		doc, err := w.Lock(ctx, key, t.doc)
		if err != nil || doc == nil {
			return err
		}
		t.doc = doc
		if ok, err := match(doc); err != nil || !ok {
			return err
		}
		if err := w.Delete(key, doc); err != nil {
			return err
		}
		deleted = true
		return w.Commit(storage.Buffered)
	})
	return deleted && err == nil, err
}
