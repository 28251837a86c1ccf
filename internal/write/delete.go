package write

import (
	"context"
	"errors"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/table"
)

// DeleteStatement is one delete of a delete command.
type DeleteStatement struct {
	Query
	// Deleted is called with each document before it is removed, while it is locked. It may be nil.
	Deleted func(doc bsonx.Doc) error
}

// Delete runs a delete statement and returns the number of removed documents.
func (e *Executor) Delete(ctx context.Context, st *DeleteStatement, opts Options) (int64, error) {
	if err := interrupt.Cause(ctx); err != nil {
		return 0, err
	}
	_, n, err := e.change(ctx, st.Query, st.Deleted != nil, opts,
		func(_ context.Context, w *table.Writer, t *target) (bool, error) {
			if st.Deleted != nil {
				if err := st.Deleted(t.doc); err != nil {
					return false, err
				}
			}
			return true, w.Delete(t.key, t.doc)
		})
	return n, err
}

// duplicateInfo returns the details of a duplicate key error. It returns false for other errors.
func duplicateInfo(err error) (bsonx.Doc, bool) {
	var e *mongoerr.Error
	if !errors.As(err, &e) || e.Code != mongoerr.DuplicateKey {
		return nil, false
	}
	return bsonx.Doc(e.Info), true
}
