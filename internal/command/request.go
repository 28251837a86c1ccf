package command

import (
	"bytes"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/read"
	"github.com/sheafdb/sheaf/internal/schema"
	"github.com/sheafdb/sheaf/internal/session"
	"github.com/sheafdb/sheaf/internal/table"
	"github.com/sheafdb/sheaf/internal/wire"
)

// Request is a parsed and checked command. A Request and the bytes that it refers to are valid
// until Run returns; see Retain.
type Request struct {
	Service *Service
	Conn    *Conn
	Def     *Definition
	// Name is the name that the client sent: the name of the definition or an alias.
	Name string
	DB   string
	// Body is the whole command document.
	Body bsonx.Doc
	// Sequences are the OP_MSG document sequences; see Documents.
	Sequences []wire.Sequence
	// Generic holds the arguments that every command accepts.
	Generic Generic
	// Ending is the offset in Body from which the bytes are the same as at the end of an earlier
	// command of the connection, whose parsed values can be reused. 0 means that no bytes can be
	// reused. See wire.ParseAfter.
	Ending int
	// Session is nil if the command has no lsid.
	Session *session.Session
	// Op is the running operation. It is also the context of Run.
	Op *session.Op
	// Now is the time at which the command began, for example the value of $$NOW.
	Now time.Time

	// Retry is the state of a retryable write. It is nil if the command is not retryable.
	Retry *retryState
	// Work is the transaction that the request belongs to. It is nil outside of transactions.
	Work *Work
	// Deferred is true if the command has made commits that are not synced yet. The reply waits for
	// the sync.
	Deferred bool
	// Explained is true if the command is explained and not run.
	Explained bool
	// Explain is the explain command that has this request inside. It is nil for other requests.
	Explain *Request
	// Failed is true if a statement of the command failed. The command itself can still succeed.
	Failed bool
	// Spaces are the namespaces of a bulkWrite, with the time spent on each.
	Spaces []WrittenSpace
	// Begun is true once the command is counted as run; see Begin.
	Begun bool
	// Misformed is true if the command could not be parsed; see Malformed.
	Misformed bool
	// Meant is the collection to which collectionUUID binds the request. It is nil if the client
	// gave no UUID.
	Meant *read.Meaning

	Value    bsonx.Value // the value of the command's own field
	RawArgs  []bsonx.Elem
	Memory   *Workspace
	Snapshot *read.HeldSnapshot // nil unless the read concern is "snapshot"
	Reply    replyState
	Retained bool
}

// replyState holds properties of the reply that are not fields of the reply's document.
type replyState struct {
	Start             int  // offset of the reply's document in its buffer
	Batch             bool // the reply has a batch of documents of a cursor
	ExhaustAllowed    bool
	CloseConn         bool
	Lost              bool // no reply is sent, and the connection is closed
	Changes           bool // the command reads a change stream
	WriteConcernError *mongoerr.Error
	// Next, if not nil, is the command that an exhaust stream runs next.
	Next bsonx.Doc
}

// CommandValue returns the value of the command's own field, the first in its document.
func (r *Request) CommandValue() bsonx.Value { return r.Value }

// Get returns an argument that is not generic, or a missing value if it is absent. Null counts as
// absent in an optional field, unless the field has type Any.
func (r *Request) Get(name string) bsonx.Value {
	for i := range r.RawArgs {
		if len(r.RawArgs[i].Key) == len(name) && string(r.RawArgs[i].Key) == name {
			return r.RawArgs[i].Value
		}
	}
	return bsonx.Value{}
}

// Has reports whether the request has the argument.
func (r *Request) Has(name string) bool { return !r.Get(name).IsMissing() }

// Bool returns a boolean argument of type Bool or SafeBool, or false if it is absent.
func (r *Request) Bool(name string) bool { return r.Get(name).Truthy() }

// BoolOr returns a boolean argument, or the value absent if the request does not have it.
func (r *Request) BoolOr(name string, absent bool) bool {
	if v := r.Get(name); !v.IsMissing() {
		return v.Truthy()
	}
	return absent
}

// Int64 returns a numeric argument of type SafeInt, rounded and clamped to 64 bits as in MongoDB.
// If the request does not have the argument, it returns absent.
func (r *Request) Int64(name string, absent int64) int64 {
	if v := r.Get(name); !v.IsMissing() {
		return bsonx.SaturatingInt64(v)
	}
	return absent
}

// String returns a string argument, or "" if it is absent.
func (r *Request) String(name string) string {
	if v := r.Get(name); v.Type == bsonx.TypeString {
		return v.Str()
	}
	return ""
}

// Doc returns an argument of type Object, or nil if it is absent.
func (r *Request) Doc(name string) bsonx.Doc {
	if v := r.Get(name); v.Type == bsonx.TypeDocument {
		return v.Doc()
	}
	return nil
}

// Args returns the arguments that are not generic, in the order of the request.
func (r *Request) Args() []bsonx.Elem { return r.RawArgs }

// Documents calls fn for each document of a Sequence field, sent either as an array or as a
// document sequence. It skips null elements, as MongoDB does. Any other element that is not a
// document is an error.
func (r *Request) Documents(name string, fn func(i int, doc bsonx.Doc) error) error {
	for i := range r.Sequences {
		if r.Sequences[i].ID != name {
			continue
		}
		for j, doc := range r.Sequences[i].Docs {
			if err := fn(j, doc); err != nil {
				return err
			}
		}
		return nil
	}
	i, nulls := 0, 0
	for it := r.Get(name).Doc().Iter(); it.Next(); i++ {
		v := it.Value()
		if IsAbsent(v) {
			nulls++
			continue
		}
		if v.Type != bsonx.TypeDocument {
			return WrongType(r.Def.Name+"."+name+"."+bsonx.IndexKey(i), v.Type, Object)
		}
		if err := fn(i-nulls, v.Doc()); err != nil {
			return err
		}
	}
	return nil
}

// DocumentCount returns the number of elements of a Sequence field, without the null elements that
// Documents skips.
func (r *Request) DocumentCount(name string) int {
	for i := range r.Sequences {
		if r.Sequences[i].ID == name {
			return r.Sequences[i].Len()
		}
	}
	n := 0
	if v := r.Get(name); v.Type == bsonx.TypeArray {
		for it := v.Doc().Iter(); it.Next(); {
			if !IsAbsent(it.Value()) {
				n++
			}
		}
	}
	return n
}

// Collection returns the name of the collection that the command's own field names. Commands with
// ByUUID also accept its UUID. Collection checks only the rules for names that hold for every
// command. The catalog checks the stricter rules for the names of new collections. If the request
// has a collectionUUID, the collection must have that UUID.
func (r *Request) Collection() (string, error) {
	name, err := r.CollectionName()
	if err != nil {
		return "", err
	}
	return name, CheckUUID(r, name)
}

// CollectionName is Collection without the check of collectionUUID, for write commands, which
// report a wrong UUID once per statement.
func (r *Request) CollectionName() (string, error) {
	v := r.CommandValue()
	if v.Type != bsonx.TypeString && v.Type != bsonx.TypeSymbol {
		return r.collectionByUUID(v)
	}
	name := v.StrBytes()
	if len(name) == 0 || name[0] == '.' || bytes.IndexByte(name, 0) >= 0 {
		return "", catalog.CheckCollectionName(r.DB, string(name))
	}
	return r.Conn.Collection(name), nil
}

// LegacyCollection is Collection for a command that MongoDB parses without its IDL. The error for
// an empty name is different.
func (r *Request) LegacyCollection() (string, error) {
	v := r.CommandValue()
	if (v.Type == bsonx.TypeString || v.Type == bsonx.TypeSymbol) && len(v.StrBytes()) == 0 {
		return "", mongoerr.New(mongoerr.InvalidNamespace, "Invalid namespace specified '%s'", r.DB)
	}
	return r.Collection()
}

// Retain keeps the request's bytes valid after Run: the connection then reads its next message into
// another buffer. A command that keeps a part of the request must call it, for example when a
// cursor keeps its filter.
func (r *Request) Retain() { r.Retained = true }

// retainCursor prepares a cursor to outlive the request that opened it. It sets the cursor's owner
// and keeps the request's bytes valid.
func (r *Request) retainCursor(c *session.Cursor) {
	r.Retain()
	if r.Snapshot != nil {
		c.Source = r.Service.Read.Snapshots.Source(r.Snapshot, c.Source)
	}
	c.Owner, c.Command, c.API = r.Owner(), r.Body, r.Generic.API()
	if r.Work != nil {
		r.Work.cursors = true
	}
	if s := r.Conn.scripting; s != nil {
		c.Running, r.Conn.scripting = &s.Running, nil
	}
	c.Save()
	c.Compiled = r.Op.Memory.HandOver()
	if c.ReadConcern == "" {
		c.ReadConcern = r.Generic.ReadConcern.Level
	}
}

// Exhaust asks the connection to run the command next right after this reply, without another
// request. A nil next means the same command again. It returns false, and does nothing, if the
// client does not allow exhaust replies.
func (r *Request) Exhaust(next bsonx.Doc) bool {
	if !r.Reply.ExhaustAllowed {
		return false
	}
	r.Reply.Next = next
	if next == nil {
		r.Reply.Next = r.Body
	}
	return true
}

// CloseConnection closes the connection after the reply.
func (r *Request) CloseConnection() { r.Reply.CloseConn = true }

// Owner returns the user, the session and the transaction that a cursor of this request belongs to.
func (r *Request) Owner() session.Owner {
	o := session.Owner{User: r.Conn.User}
	if r.Session != nil {
		o.Session = r.Session.ID
	}
	if r.Work != nil {
		o.InTransaction, o.TxnNumber = true, r.Generic.TxnNumber
	}
	return o
}

// Work is the open transaction of a session.
type Work struct {
	table.Transaction
	Service *Service
	Open    *session.Transaction
	// cursors is true if cursors may exist that read from the transaction.
	cursors bool
}

// Abort implements session.Work.
func (w *Work) Abort() {
	w.CloseCursors()
	w.Transaction.Abort()
}

// CloseCursors closes all cursors that read from the transaction.
func (w *Work) CloseCursors() {
	if w.cursors {
		w.Service.Cursors.KillTransaction(w.Open.Session.ID, w.Open.Number)
	}
}

// Txn returns the transaction that the request belongs to, or nil outside of transactions.
func (r *Request) Txn() table.Transaction {
	if r.Work == nil {
		return nil
	}
	return r.Work.Transaction
}

// viewOf returns the state of the data that a request reads.
func viewOf(r *Request) table.View {
	switch {
	case r.Work != nil:
		return r.Work.Transaction
	case r.Snapshot != nil:
		return r.Snapshot
	}
	return r.Service.Store.Newest()
}

// Writable returns the state of the data that a request writes: its transaction or the newest
// state.
func (r *Request) Writable() schema.Writable {
	if r.Work != nil {
		return r.Work.Transaction
	}
	return schema.Newest{Newest: r.Service.Store.Newest()}
}
