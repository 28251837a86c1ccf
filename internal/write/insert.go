package write

import (
	"context"
	"errors"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/table"
)

// These are the limits of one storage transaction of an insert.
const (
	insertBatchDocs  = 512
	insertBatchBytes = 4 << 20
)

// Insert adds documents that were prepared: they have an _id and were checked. It returns how many
// it added. An ordered statement stops at the first refused document; an unordered one continues
// with the others. failed is called for each refused document in order, with its position and
// error. The returned error ends the statement.
//
// open returns the collection. Insert calls it for each batch: if the collection was dropped
// meanwhile, the remaining documents go to the collection that has its name then.
func (e *Executor) Insert(ctx context.Context, open Opener, docs []bsonx.Doc, opts Options,
	failed func(i int, err error),
) (n int, err error) {
	if opts.inTxn() {
		n, _, err := e.insertEach(ctx, open, docs, 0, opts, failed)
		return n, err
	}
	for start := 0; start < len(docs); {
		if err := interrupt.Cause(ctx); err != nil {
			return n, err
		}
		end := batchEnd(docs, start)
		err := e.insertBatch(ctx, open, docs[start:end], start, opts)
		if err == nil {
			n += end - start
			start = end
			continue
		}
		if !perDocument(err) {
			return n, err
		}
		if end-start == 1 && !errors.Is(err, storage.ErrConflict) {
			failed(start, err)
			if opts.Ordered {
				return n, nil
			}
			start = end
			continue
		}
		added, stop, err := e.insertEach(ctx, open, docs[start:end], start, opts, failed)
		n += added
		if err != nil || stop {
			return n, err
		}
		start = end
	}
	return n, nil
}

func batchEnd(docs []bsonx.Doc, start int) int {
	size := 0
	for i := start; i < len(docs); i++ {
		size += len(docs[i])
		if i > start && size > insertBatchBytes || i-start == insertBatchDocs {
			return i
		}
	}
	return len(docs)
}

// Opener returns the collection with a given name. It creates the collection if it does not exist.
type Opener func() (*table.Collection, error)

// Only returns an opener of one collection, whatever its name is. The opener fails with
// table.ErrChanged after the collection was dropped.
func (e *Executor) Only(c *table.Collection) Opener {
	return func() (*table.Collection, error) {
		if current := e.store.Current(c); current != nil {
			return current, nil
		}
		return nil, table.ErrChanged // not ErrDropped, after which an insert calls the opener again
	}
}

// insertBatch adds all documents in one transaction, or none of them. from is the position of the
// first document in the statement.
func (e *Executor) insertBatch(ctx context.Context, open Opener, docs []bsonx.Doc, from int, opts Options) error {
	return table.RetryOn(table.ErrDropped, func() error {
		c, err := open()
		if err != nil {
			return err
		}
		return e.insertInto(ctx, c, docs, from, opts)
	})
}

func (e *Executor) insertInto(ctx context.Context, c *table.Collection, docs []bsonx.Doc,
	from int, opts Options,
) error {
	w, err := e.beginInsert(ctx, c, opts)
	if err != nil {
		return err
	}
	defer w.Close()
	if c.Timeseries != nil {
		err = insertSeries(ctx, w, docs, from, opts)
	} else {
		err = insertDocs(ctx, w, docs, from, opts)
	}
	if err != nil {
		return err
	}
	if err := opts.Retry.inserted(w, from, len(docs)); err != nil {
		return err
	}
	return commit(w, opts)
}

func insertSeries(ctx context.Context, w *table.Writer, docs []bsonx.Doc, from int, opts Options) error {
	if opts.inTxn() {
		return mongoerr.New(mongoerr.OperationNotSupportedInTransaction,
			"Cannot insert into a time-series collection in a multi-document transaction: %s", w.Collection().Namespace())
	}
	opts.Retry.attribute(w, from)
	return insertMeasurements(ctx, w, docs)
}

func insertDocs(ctx context.Context, w *table.Writer, docs []bsonx.Doc, from int, opts Options) error {
	for i, doc := range docs {
		opts.Retry.attribute(w, from+i)
		if err := insertOne(ctx, w, doc, opts); err != nil {
			return err
		}
	}
	return nil
}

// beginInsert returns a writer that adds documents.
func (e *Executor) beginInsert(ctx context.Context, c *table.Collection, opts Options) (*table.Writer, error) {
	if c.Capped != nil && !opts.inTxn() {
		if err := e.store.Trim(ctx, c); err != nil {
			return nil, err
		}
	}
	return opts.View.BeginWrite(c)
}

func insertOne(ctx context.Context, w *table.Writer, doc bsonx.Doc, opts Options) error {
	if err := opts.validate(ctx, w.Collection(), nil, doc); err != nil {
		return err
	}
	return w.Insert(ctx, doc)
}

// insertEach adds documents one by one, after inserting them as a batch has failed, so that each
// error belongs to a document. from is the position of the first document in the statement. A
// multi-document transaction always inserts one by one: it cannot undo a part of a batch, and its
// first error ends it.
func (e *Executor) insertEach(ctx context.Context, open Opener, docs []bsonx.Doc, from int, opts Options,
	failed func(int, error),
) (n int, stop bool, err error) {
	for i := range docs {
		if err := interrupt.Cause(ctx); err != nil {
			return n, true, err
		}
		err := e.retry(ctx, opts, func() error { return e.insertBatch(ctx, open, docs[i:i+1], from+i, opts) })
		switch {
		case err == nil:
			n++
		case !perDocument(err), opts.inTxn() && errors.Is(err, storage.ErrConflict):
			return n, true, err
		default:
			failed(from+i, err)
			if opts.Ordered || opts.inTxn() {
				return n, true, nil
			}
		}
	}
	return n, false, nil
}

// perDocument reports whether an error refuses one document only. Other errors end the statement.
func perDocument(err error) bool {
	if errors.Is(err, storage.ErrConflict) {
		return true
	}
	return isUserError(err)
}
