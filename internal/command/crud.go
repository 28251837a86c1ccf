package command

import (
	"errors"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/plan/query"
	"github.com/sheafdb/sheaf/internal/read"
	"github.com/sheafdb/sheaf/internal/schema"
	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/table"
	"github.com/sheafdb/sheaf/internal/write"
)

// This file holds code that is shared by the commands that read or write documents.

// NewScope returns the scope for the expressions of a command, with the variables of its let.
func NewScope(req *Request) (read.Scope, error) {
	vars := req.BaseVars()
	if req.StableAPI().APIStrict == BoolTrue {
		vars = vars.WithStableAPI()
		if err := checkStrictSort(req.Doc("sort"), vars); err != nil {
			return read.Scope{}, err
		}
	}
	vars, err := vars.WithLet(req.Doc("let"), req.Now)
	sc := read.Scope{Now: req.Now, Vars: vars, Engine: &req.Service.Read, Counts: true}
	switch req.Def.Name {
	case "insert", "update", "delete", "findAndModify", "bulkWrite":
		sc.Writes = true
	case "count", "distinct": // MongoDB does not count these as uses of operators either
		sc.Counts = false
	}
	return sc, err
}

// NewStatementScope is NewScope for a command that has statements, such as update. An invalid let
// or a wrong collectionUUID does not fail the command: the scope holds the error as Mistake, and
// each statement reports it.
func NewStatementScope(req *Request, name string) (read.Scope, error) {
	sc, err := NewScope(req)
	if err == nil {
		err = CheckUUID(req, name)
	}
	if err == nil || EndsCommand(err) {
		return sc, err
	}
	sc.Mistake = err
	return sc, nil
}

// WriteTarget checks the namespace of a write and returns the collection that the write changes.
// For a time series this is its bucket collection. It returns nil if the collection does not exist.
func WriteTarget(r *Request, db, name string) (*table.Collection, error) {
	if err := catalog.CheckDatabaseName(db); err != nil {
		return nil, err
	}
	if err := catalog.CheckWrite(db, name); err != nil {
		return nil, err
	}
	return ExistingTarget(r, db, name)
}

// ExistingTarget returns the collection that a write to db.name changes, or nil if it does not
// exist. It does not check the name: use WriteTarget for a collection that the write may create.
func ExistingTarget(r *Request, db, name string) (*table.Collection, error) {
	c, err := r.Reads().Lookup(db, name)
	if err != nil {
		return nil, err
	}
	return WrittenTarget(r, c)
}

// WrittenTarget returns the collection that a write to c changes: c, or the buckets of a time
// series. It returns nil if c is nil, and an error if c is a view or a virtual collection.
func WrittenTarget(r *Request, c *table.Collection) (*table.Collection, error) {
	switch {
	case c == nil:
		return nil, nil
	case c.Kind == catalog.KindTimeseries:
		return r.Reads().Buckets(c)
	case read.IsVirtual(c):
		return nil, NotStored(c)
	case c.Kind == catalog.KindView:
		return nil, mongoerr.New(mongoerr.CommandNotSupportedOnView,
			"Namespace %s is a view, not a collection", c.Namespace())
	}
	return c, nil
}

// EnsureTarget returns the collection that an insert into db.name changes, and creates it if it
// does not exist.
func EnsureTarget(r *Request, db, name string) (*table.Collection, error) {
	var c *table.Collection
	err := table.RetryOn(table.ErrChanged, func() (err error) {
		if c, err = WriteTarget(r, db, name); err != nil || c != nil {
			return err
		}
		if txn := r.Txn(); txn != nil {
			c, err = txn.Ensure(db, name)
			return err
		}
		// Another client may create a view or a time series first.
		if _, err := schema.Ensure(r.Service.Store, db, name); err != nil {
			return err
		}
		return table.ErrChanged
	})
	return c, err
}

// CheckWithout checks a statement on a collection that does not exist. It returns an error for a
// $text query, because there is no text index, and for an invalid hint.
func CheckWithout(db, name string, f *filter.Filter, hint bsonx.Value) error {
	if f != nil && f.Text() != nil {
		return query.NoTextIndex(db + "." + name)
	}
	return query.CheckHint(hint)
}

// Lookup returns a collection or view of the request's database, or nil if it does not exist.
func (r *Request) Lookup(name string) (*table.Collection, error) { return r.Reads().Lookup(r.DB, name) }

// Durability returns durable if the write concern requires that a commit survives a loss of power,
// and storage.Buffered otherwise.
func (r *Request) Durability(durable storage.Durability) storage.Durability {
	if r.Generic.WriteConcern.durable() {
		return durable
	}
	return storage.Buffered
}

// WriteErrors collects the errors of a write command's documents or statements.
type WriteErrors struct {
	Items []WriteError
	told  ErrorText
}

// WriteError is the error of one document or statement of a write command.
type WriteError struct {
	Index int
	Err   *mongoerr.Error
}

// Add adds the error of the document or statement at position index.
func (e *WriteErrors) Add(index int, err error) {
	e.Items = append(e.Items, WriteError{index, e.told.Shortened(err)})
}

// ErrorText counts the errors that a reply holds so far, and the bytes of their messages and
// details.
type ErrorText struct{ errors, text, info int }

// Shortened counts err as the next error of the reply and returns it. It removes the message or the
// details if the reply has reached maxErrorText or maxErrorInfo.
func (t *ErrorText) Shortened(err error) *mongoerr.Error {
	e := *UserError(err)
	e.Info = DetailsOf(&e)
	if t.errors > 0 && t.info+len(e.Info) > maxErrorInfo {
		e.Info = nil
	}
	if t.errors > 1 && t.text >= maxErrorText {
		e.Message = ""
	}
	t.errors++
	t.text += len(e.Message)
	t.info += len(e.Info)
	return &e
}

// The size limits of the error texts in one reply. Errors over the limits have only an index and a
// code.
const (
	// maxErrorText is a total length of messages, in bytes. When the messages in a reply have this
	// length, further errors get no message, except for the first two errors.
	maxErrorText = 1 << 20
	// maxErrorInfo is the largest total length of details (such as the keys of duplicates), in
	// bytes. An error whose details would exceed it gets none, except for the first error.
	maxErrorInfo = limits.DocumentBytes
)

// Append appends the field writeErrors to the reply, unless there are no errors.
func (e *WriteErrors) Append(reply *bsonx.Builder) {
	if len(e.Items) == 0 {
		return
	}
	reply.StartArrayField("writeErrors")
	for _, item := range e.Items {
		reply.StartDocElem()
		reply.Int32("index", int32(item.Index))
		AppendWriteError(reply, item.Err)
		reply.End()
	}
	reply.End()
}

// AppendWriteError appends the fields of one error: code, errmsg and details.
func AppendWriteError(reply *bsonx.Builder, e *mongoerr.Error) {
	reply.Int32("code", int32(e.Code))
	reply.String("errmsg", e.Message)
	reply.Fields(e.Info)
}

// EndsCommand reports whether err ends the whole write command. Any other error concerns one
// document or statement.
func EndsCommand(err error) bool {
	var e *mongoerr.Error
	if !errors.As(err, &e) {
		return true
	}
	return write.Interrupts(e.Code) || e.Code == mongoerr.NotImplemented || IsTransient(e.Code, false)
}

// KeepTimestamps is the argument that stores Timestamp(0, 0) in a new document unchanged. Without
// it the server replaces it by the current time.
const KeepTimestamps = "bypassEmptyTsReplacement"

// DocsOf returns the documents of an array and skips null elements. Any other element is an error,
// in which path names the array.
func DocsOf(path string, v bsonx.Value) ([]bsonx.Doc, error) {
	var out []bsonx.Doc
	for it := v.Doc().Iter(); it.Next(); {
		if IsAbsent(it.Value()) {
			continue
		}
		if it.Value().Type != bsonx.TypeDocument {
			return nil, WrongType(path+"."+string(it.Key()), it.Value().Type, Object)
		}
		out = append(out, it.Value().Doc())
	}
	return out, nil
}

// FilteredQuery returns a query with the command's fields query and collation.
func FilteredQuery(req *Request, name string, c *table.Collection) (*query.Query, error) {
	sc, err := NewScope(req)
	if err != nil {
		return nil, err
	}
	if sc, err = sc.Collated(req.Get("collation"), c); err != nil {
		return nil, err
	}
	f, err := sc.FilterOrAll(req.Doc("query"))
	if err != nil {
		return nil, err
	}
	return &query.Query{
		DB: req.DB, Name: name, Coll: c, Filter: f, Collation: sc.Collation,
		CollationSpec: read.SpecOf(req.Get("collation")),
	}, nil
}

// HintedQuery is FilteredQuery for a command that also has a hint.
func HintedQuery(req *Request, name string, c *table.Collection) (*query.Query, error) {
	if err := read.CheckHint(req.Get("hint")); err != nil {
		return nil, err
	}
	q, err := FilteredQuery(req, name, c)
	if err != nil {
		return nil, err
	}
	q.Hint = req.Get("hint")
	return q, nil
}
