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

// This file holds what the commands that read and write documents have in common.

// NewScope reads the command's let.
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
	case "count", "distinct": // as in MongoDB
		sc.Counts = false
	}
	return sc, err
}

// NewStatementScope returns the scope of a command of statements. A mistake in let, or a wrong
// UUID, is then an error of each statement and not of the command.
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

// WriteTarget checks the namespace of a write. It returns the collection that the write changes,
// or nil if there is none yet. For a time series these are its buckets.
func WriteTarget(r *Request, db, name string) (*table.Collection, error) {
	if err := catalog.CheckDatabaseName(db); err != nil {
		return nil, err
	}
	if err := catalog.CheckWrite(db, name); err != nil {
		return nil, err
	}
	return ExistingTarget(r, db, name)
}

// ExistingTarget returns the collection that a write to an existing name changes, or nil if
// there is none. Use WriteTarget for a name that may be new.
func ExistingTarget(r *Request, db, name string) (*table.Collection, error) {
	c, err := r.Reads().Lookup(db, name)
	if err != nil {
		return nil, err
	}
	return WrittenTarget(r, c)
}

// WrittenTarget returns the collection that writes to c, which may be nil, change: the buckets of a
// time series. It fails for a view.
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

// EnsureTarget returns a collection to insert into, made if there is none.
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
		// Another client may be first, and make a view or a time series.
		if _, err := schema.Ensure(r.Service.Store, db, name); err != nil {
			return err
		}
		return table.ErrChanged
	})
	return c, err
}

// CheckWithout judges a statement on a collection that does not exist: a search for words has no
// index there, and the hint of a scan may be wrong.
func CheckWithout(db, name string, f *filter.Filter, hint bsonx.Value) error {
	if f != nil && f.Text() != nil {
		return query.NoTextIndex(db + "." + name)
	}
	return query.CheckHint(hint)
}

// Lookup returns a collection or view of the request's database, or nil.
func (r *Request) Lookup(name string) (*table.Collection, error) { return r.Reads().Lookup(r.DB, name) }

// Durability turns the write concern into what a commit waits for: with j or a majority it
// survives the loss of power.
func (r *Request) Durability(durable storage.Durability) storage.Durability {
	if r.Generic.WriteConcern.durable() {
		return durable
	}
	return storage.Buffered
}

// WriteErrors collects the errors of single documents or statements.
type WriteErrors struct {
	Items []WriteError
	told  ErrorText
}

// WriteError is the error of one document or statement of a command.
type WriteError struct {
	Index int
	Err   *mongoerr.Error
}

// Add adds the error of the statement or document with an index.
func (e *WriteErrors) Add(index int, err error) {
	e.Items = append(e.Items, WriteError{index, e.told.Shortened(err)})
}

// ErrorText counts the errors of one command, and the bytes of their messages and details.
type ErrorText struct{ errors, text, info int }

// Shortened returns the next error of the command, cut at the limits.
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

// The limits of what write errors tell. Beyond them an error is only its index and its code.
const (
	// maxErrorText is from when on messages are left out, where there are several.
	maxErrorText = 1 << 20
	// maxErrorInfo is from when on details are left out, such as the keys of duplicates.
	maxErrorInfo = limits.DocumentBytes
)

// Append writes the field writeErrors, if there are any.
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

// AppendWriteError appends code, message and details of an error.
func AppendWriteError(reply *bsonx.Builder, e *mongoerr.Error) {
	reply.Int32("code", int32(e.Code))
	reply.String("errmsg", e.Message)
	reply.Fields(e.Info)
}

// EndsCommand reports whether an error ends a whole write command. Other errors belong to one
// document or statement.
func EndsCommand(err error) bool {
	var e *mongoerr.Error
	if !errors.As(err, &e) {
		return true
	}
	return write.Interrupts(e.Code) || e.Code == mongoerr.NotImplemented || IsTransient(e.Code, false)
}

// KeepTimestamps is the argument by which Timestamp(0, 0) in a new document is stored as it is.
const KeepTimestamps = "bypassEmptyTsReplacement"

// DocsOf returns the documents of an array. path names the array in the error for an element
// that is no document.
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

// FilteredQuery is what the fields query and collation of a command ask for.
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

// HintedQuery is FilteredQuery for a command that also has the field hint.
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
