package write

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/table"
)

// DeleteRecord removes one record where match, which is asked while the record is locked, says so, in a
// transaction of its own. It fails with
// table.ErrDropped where c is not the newest form of its collection any more: what asked for the deletion may be gone.
func (e *Executor) DeleteRecord(
	ctx context.Context, c *table.Collection, key []byte, match func(bsonx.Doc) (bool, error),
) (deleted bool, err error) {
	t := getScratch()
	defer putScratch(t)
	err = retry(ctx, Options{View: e.store.Newest()}, func() error {
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
