package write

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/table"
	"github.com/sheafdb/sheaf/internal/update"
)

// UpdateStatement is one update of an update command.
type UpdateStatement struct {
	Query
	// RawFilter is the query document, from which an upsert derives its document.
	RawFilter bsonx.Doc
	Update    *update.Update
	Upsert    bool
	// Supplied is the document that an upsert inserts instead of a derived one. It may be nil.
	Supplied bsonx.Doc
	Env      update.Env
	// Updated is called with both versions of each document that matched, while it is locked. It
	// may be nil. old is nil for an upsert. The documents are borrowed.
	Updated func(old, doc bsonx.Doc) error
}

// UpdateResult is the result of an update.
type UpdateResult struct {
	Matched  int64
	Modified int64
	// UpsertedID is the _id of the inserted document; missing if the update did not insert one.
	UpsertedID bsonx.Value
}

// upsertTries limits how often an upsert starts again after another upsert inserted its document
// first.
const upsertTries = 100

// Update runs an update statement.
func (e *Executor) Update(ctx context.Context, st *UpdateStatement, opts Options) (UpdateResult, error) {
	for try := 0; ; try++ {
		if err := interrupt.Cause(ctx); err != nil {
			return UpdateResult{}, err
		}
		matched, modified, err := e.change(ctx, st.Query, st.Update.NeedsMatchedIndex(), opts, st.apply(opts))
		if err != nil || matched > 0 || !st.Upsert {
			return UpdateResult{Matched: matched, Modified: modified}, err
		}
		id, err := e.upsert(ctx, st, opts)
		if err == nil {
			return UpdateResult{UpsertedID: id}, nil
		}
		info, duplicate := duplicateInfo(err)
		if try == upsertTries || opts.inTxn() || !duplicate || !st.lostRace(info) {
			return UpdateResult{}, err
		}
	}
}

// Try applies the update to a document that matched, without storing the result.
func (st *UpdateStatement) Try(ctx context.Context, doc bsonx.Doc) error {
	if err := interrupt.Cause(ctx); err != nil {
		return err
	}
	t := target{doc: doc}
	details := st.Update.NeedsMatchedIndex()
	if details {
		if ok, err := t.match(st.Filter, details); err != nil || !ok {
			return err
		}
	}
	env := st.Env
	env.MatchedIndex, env.HasMatchedIndex = t.index, t.hasIndex
	_, _, err := st.Update.Apply(doc, env)
	return err
}

// TryUpsert builds the document that the statement would insert, without storing it.
func (st *UpdateStatement) TryUpsert() error {
	_, err := st.newDoc()
	return err
}

// apply returns the function that applies the update to a target.
func (st *UpdateStatement) apply(opts Options) act {
	return func(ctx context.Context, w *table.Writer, t *target) (bool, error) {
		env := st.Env
		env.MatchedIndex, env.HasMatchedIndex = t.index, t.hasIndex
		env.Buffer = t.out
		doc, changed, err := st.Update.Apply(t.doc, env)
		if err != nil {
			return false, err
		}
		if changed {
			if st.Update.Kind() == update.KindOperators {
				t.out = doc // doc is in the buffer, which may have grown
			}
			if err := opts.validate(ctx, w.Collection(), t.doc, doc); err != nil {
				return false, err
			}
			if err := w.UpdateWithin(ctx, t.key, t.doc, doc, st.how(), st.Update); err != nil {
				return false, err
			}
		}
		if st.Updated != nil {
			if err := st.Updated(t.doc, doc); err != nil {
				return false, err
			}
		}
		return changed, nil
	}
}

// how returns the kind of change for the oplog: a replacement, a modification by operators, or a
// rewrite by a pipeline.
func (st *UpdateStatement) how() table.Change {
	switch st.Update.Kind() {
	case update.KindReplacement:
		return table.Replacement
	case update.KindPipeline:
		return table.Rewriting
	default:
		return table.Modification
	}
}

// upsert inserts the document that the query and the update describe, and returns its _id.
func (e *Executor) upsert(ctx context.Context, st *UpdateStatement, opts Options) (bsonx.Value, error) {
	doc, err := st.newDoc()
	if err != nil {
		return bsonx.Value{}, err
	}
	id := doc.Lookup("_id")
	return id, e.retry(ctx, opts, func() error { return e.insertUpserted(ctx, st, doc, id, opts) })
}

// insertUpserted inserts the document of an upsert in its own transaction.
func (e *Executor) insertUpserted(ctx context.Context, st *UpdateStatement, doc bsonx.Doc,
	id bsonx.Value, opts Options,
) error {
	w, err := e.beginInsert(ctx, st.Coll, opts)
	if err != nil {
		return err
	}
	defer w.Close()
	opts.Retry.attribute(w, st.Position)
	if err := insertOne(ctx, w, doc, opts); err != nil {
		return err
	}
	if st.Updated != nil {
		if err := st.Updated(nil, doc); err != nil {
			return err
		}
	}
	if err := opts.Retry.changed(w, id); err != nil {
		return err
	}
	return commit(w, opts)
}

// newDoc returns the document that an upsert inserts.
func (st *UpdateStatement) newDoc() (bsonx.Doc, error) {
	if st.Supplied != nil {
		return st.Supplied, nil
	}
	query := st.RawFilter
	if st.Filter.Normalize().Root.Kind() == filter.KindAlwaysFalse {
		query = bsonx.Empty // a contradictory query tells nothing about the document
	}
	return update.UpsertDoc(query, st.Update, st.Env)
}
