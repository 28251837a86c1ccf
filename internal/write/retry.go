package write

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/oplog"
	"github.com/sheafdb/sheaf/internal/retryable"
	"github.com/sheafdb/sheaf/internal/table"
)

// Retry makes the statements of a command retryable: each transaction stores which statements it
// has executed. A nil Retry is for statements that are not retryable: then attribute, changed,
// inserted, Of, OfModification and At do nothing.
type Retry struct {
	Session retryable.Session
	// By identifies the session in the oplog. By.StmtID is the statement number of the next change.
	By oplog.Writer
	// Now is the time of the command, in milliseconds since 1970.
	Now int64
	// IDs are the statement numbers by position in the command. If IDs is nil, the numbers are
	// consecutive and begin with First.
	IDs   []int32
	First int32
	// Positions, if not nil, has the positions of the documents in the command. Otherwise the
	// documents have consecutive positions that begin with Offset.
	Positions []int
	Offset    int
	// Kind is the kind of the command.
	Kind retryable.Kind
	// Value returns the document that findAndModify will return, before its projection. It may be
	// nil.
	Value func() bsonx.Doc
	// Before, if not nil, is called before each commit; an error rolls the transaction back. It is
	// for tests.
	Before func() error
	// Records is the number of records that were written.
	Records int64

	key, value []byte
}

// Statement returns the number of the statement at position i of the command.
func (r *Retry) Statement(i int) int32 {
	if r.IDs != nil {
		return r.IDs[i]
	}
	return r.First + int32(i)
}

// statement returns the statement number of the i-th document or statement.
func (r *Retry) statement(i int) int32 {
	if r.Positions != nil {
		return r.Statement(r.Positions[i])
	}
	return r.Statement(r.Offset + i)
}

// attribute sets the statement that the next change belongs to.
func (r *Retry) attribute(w *table.Writer, i int) {
	if r != nil {
		r.By.StmtID = r.statement(i)
		w.Attribute(&r.By)
	}
}

// changed records that the last attributed statement has changed or removed a document, or inserted
// a document with the _id upserted.
func (r *Retry) changed(w *table.Writer, upserted bsonx.Value) error {
	if r == nil {
		return nil
	}
	rec := retryable.Record{Statement: r.By.StmtID, Count: 1, Kind: r.Kind, Upserted: upserted}
	if r.Value != nil {
		rec.Value = r.Value()
	}
	if err := r.put(w, &rec); err != nil {
		return err
	}
	return r.before()
}

// inserted records that n documents were inserted, the first at position from. Documents with
// consecutive statement numbers share one record.
func (r *Retry) inserted(w *table.Writer, from, n int) error {
	if r == nil {
		return nil
	}
	for i := from; i < from+n; {
		rec := retryable.Record{Statement: r.statement(i), Count: 1, Kind: retryable.Insert}
		for i++; i < from+n && r.statement(i) == rec.Statement+rec.Count; i++ {
			rec.Count++
		}
		if err := r.put(w, &rec); err != nil {
			return err
		}
	}
	return r.before()
}

func (r *Retry) put(w *table.Writer, rec *retryable.Record) error {
	r.Records++
	rec.TxnNumber, rec.Time = r.By.TxnNumber, r.Now
	r.key = rec.AppendKey(r.key[:0], &r.Session)
	r.value = rec.AppendValue(r.value[:0])
	return w.Remember(r.key, r.value)
}

// Reset prepares a Retry for the next command. It keeps the buffers.
func (r *Retry) Reset() {
	*r = Retry{key: r.key, value: r.value}
	if cap(r.value) > maxScratch {
		r.value = nil
	}
}

func (r *Retry) before() error {
	if r.Before == nil {
		return nil
	}
	return r.Before()
}

// Of sets the kind of the command.
func (r *Retry) Of(kind retryable.Kind) {
	if r != nil {
		r.Kind = kind
	}
}

// OfModification says that the command is findAndModify. value returns the document that it will
// return.
func (r *Retry) OfModification(remove bool, value func() bsonx.Doc) {
	if r == nil {
		return
	}
	r.Kind, r.Value = retryable.ModifyUpdate, value
	if remove {
		r.Kind = retryable.ModifyDelete
	}
}

// At sets the positions of the next statement's documents in the command; see Positions and Offset.
func (r *Retry) At(positions []int, offset int) {
	if r != nil {
		r.Positions, r.Offset = positions, offset
	}
}
