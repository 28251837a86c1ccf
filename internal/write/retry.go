package write

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/oplog"
	"github.com/sheafdb/sheaf/internal/retryable"
	"github.com/sheafdb/sheaf/internal/table"
)

// Retry makes the statements of a command retryable: what each transaction does is recorded in it. Its methods do nothing on nil,
// for statements that can not be retried.
type Retry struct {
	Session retryable.Session
	// By names the session in the log of changes. Its statement is that of the next change.
	By oplog.Writer
	// Now is the time of the command, in milliseconds since 1970.
	Now int64
	// IDs are the numbers of the statements by their positions in the command; where nil, they follow on First.
	IDs   []int32
	First int32
	// Positions, where not nil, are those of documents; otherwise all are there from Offset on.
	Positions []int
	Offset    int
	// Kind is what the command does.
	Kind retryable.Kind
	// Value returns the document that findAndModify is going to return, before its projection; nil for none.
	Value func() bsonx.Doc
	// Before, where not nil, is asked before each transaction's commit; an error undoes it. It is for tests.
	Before func() error
	// Records is how many records were put.
	Records int64

	key, value []byte
}

// Statement returns the number of the statement at a position.
func (r *Retry) Statement(i int) int32 {
	if r.IDs != nil {
		return r.IDs[i]
	}
	return r.First + int32(i)
}

// statement returns the number of the i-th document or statement.
func (r *Retry) statement(i int) int32 {
	if r.Positions != nil {
		return r.Statement(r.Positions[i])
	}
	return r.Statement(r.Offset + i)
}

// attribute names the statement that the next change belongs to.
func (r *Retry) attribute(w *table.Writer, i int) {
	if r != nil {
		r.By.StmtID = r.statement(i)
		w.Attribute(&r.By)
	}
}

// changed records that the statement that was attributed last has changed or removed a document, or inserted the one with the
// _id upserted.
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

// inserted records that n documents were inserted, of which the first stands at the position from. Consecutive statements have one
// record.
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

// Reset makes the memory of a Retry ready for another command.
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

// Of says what the command does.
func (r *Retry) Of(kind retryable.Kind) {
	if r != nil {
		r.Kind = kind
	}
}

// OfModification says that the command is findAndModify, which is going to return value's document.
func (r *Retry) OfModification(remove bool, value func() bsonx.Doc) {
	if r == nil {
		return
	}
	r.Kind, r.Value = retryable.ModifyUpdate, value
	if remove {
		r.Kind = retryable.ModifyDelete
	}
}

// At says where the documents of the next statement stand in the command.
func (r *Retry) At(positions []int, offset int) {
	if r != nil {
		r.Positions, r.Offset = positions, offset
	}
}
