package command

import (
	"bytes"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/read"
	"github.com/sheafdb/sheaf/internal/session"
	"github.com/sheafdb/sheaf/internal/table"
	"github.com/sheafdb/sheaf/internal/wire"
)

// Request is a parsed and checked command. It and what it refers to is valid until Run returns;
// see Retain.
type Request struct {
	Service *Service
	Conn    *Conn
	Def     *Definition
	// Name is the command's name as it was sent: the definition's name or an alias.
	Name string
	DB   string
	// Body is the whole command document.
	Body bsonx.Doc
	// Sequences are the OP_MSG document sequences; see Documents.
	Sequences []wire.Sequence
	// Generic holds the arguments that every command takes.
	Generic Generic
	// Ending is where the arguments begin with which an earlier command of the connection ended,
	// too; 0 where there are none.
	Ending int
	// Session is nil for a command without lsid.
	Session *session.Session
	// Op is the running operation; it is also Run's context.
	Op *session.Op
	// Now is the time at which the command began; $$NOW and the like.
	Now time.Time

	// Retry is what makes the request's statements retryable; nil where they are not.
	Retry *retryState
	// Work is what the request's transaction has done so far; nil outside of transactions.
	Work *Work
	// Deferred says that the command has made commits that wait for a sync.
	Deferred bool
	// Explained says that the command is not run.
	Explained bool
	// Explain is the request that explains this one; nil if there is none.
	Explain *Request
	// Failed says that a statement of the command failed, although the command itself did not.
	Failed bool
	// Spaces are the namespaces of a bulkWrite.
	Spaces []WrittenSpace
	// Begun says that the command is counted as one that ran.
	Begun bool
	// Misformed says that the command could not be parsed.
	Misformed bool
	// Meant is the collection that the client means by its UUID; nil if it gave none.
	Meant *read.Meaning

	Value    bsonx.Value // of the command's own field
	RawArgs  []bsonx.Elem
	Memory   *Workspace
	Snapshot *read.HeldSnapshot // nil where the read concern is not "snapshot"
	Reply    replyState
	Retained bool
}

// replyState is what Run can ask of the reply beside its fields.
type replyState struct {
	Start             int  // of the reply's document in its buffer
	Batch             bool // the reply has a batch of a cursor
	ExhaustAllowed    bool
	CloseConn         bool
	Lost              bool // it is not sent, and the connection is closed
	Changes           bool // the command reads a change stream
	WriteConcernError *mongoerr.Error
	// Next, where set, is the body that an exhaust stream runs next.
	Next bsonx.Doc
}

// CommandValue returns the value of the command's own field.
func (r *Request) CommandValue() bsonx.Value { return r.Value }

// Get returns an argument that is not generic, or a missing value; an optional null counts as
// missing unless the field's type is Any.
func (r *Request) Get(name string) bsonx.Value {
	for i := range r.RawArgs {
		if len(r.RawArgs[i].Key) == len(name) && string(r.RawArgs[i].Key) == name {
			return r.RawArgs[i].Value
		}
	}
	return bsonx.Value{}
}

// Has reports whether the argument is present.
func (r *Request) Has(name string) bool { return !r.Get(name).IsMissing() }

// Bool returns a boolean argument of type Bool or SafeBool, false where it is absent.
func (r *Request) Bool(name string) bool { return r.Get(name).Truthy() }

// BoolOr is Bool with another default.
func (r *Request) BoolOr(name string, absent bool) bool {
	if v := r.Get(name); !v.IsMissing() {
		return v.Truthy()
	}
	return absent
}

// Int64 returns a number of type SafeInt, rounded and bounded as in MongoDB. If the request has
// no such argument it returns absent.
func (r *Request) Int64(name string, absent int64) int64 {
	if v := r.Get(name); !v.IsMissing() {
		return bsonx.SaturatingInt64(v)
	}
	return absent
}

// String returns a string argument, empty where it is absent.
func (r *Request) String(name string) string {
	if v := r.Get(name); v.Type == bsonx.TypeString {
		return v.Str()
	}
	return ""
}

// Doc returns an argument of type Object, nil where it is absent.
func (r *Request) Doc(name string) bsonx.Doc {
	if v := r.Get(name); v.Type == bsonx.TypeDocument {
		return v.Doc()
	}
	return nil
}

// Args returns the arguments that are not generic, in the order in which they were sent.
func (r *Request) Args() []bsonx.Elem { return r.RawArgs }

// Documents walks the documents of a Sequence field, whichever way they were sent. An array
// element that is neither a document nor null is an error; MongoDB passes over null.
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

// DocumentCount returns how many elements a Sequence field has, without those that Documents
// passes over.
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

// Collection returns the collection that the command's own field names, by its name or, where the
// command takes that, by its UUID. Only what every command refuses is checked; rules of creation
// are the catalog's. The collection has the UUID that the command may say.
func (r *Request) Collection() (string, error) {
	name, err := r.CollectionName()
	if err != nil {
		return "", err
	}
	return name, CheckUUID(r, name)
}

// CollectionName is Collection for a command of statements, which each answer a wrong UUID.
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

// LegacyCollection is Collection for a command that MongoDB parses without its IDL: the error for
// an empty name has another form.
func (r *Request) LegacyCollection() (string, error) {
	v := r.CommandValue()
	if (v.Type == bsonx.TypeString || v.Type == bsonx.TypeSymbol) && len(v.StrBytes()) == 0 {
		return "", mongoerr.New(mongoerr.InvalidNamespace, "Invalid namespace specified '%s'", r.DB)
	}
	return r.Collection()
}

// Retain lets the request's bytes live on after Run: the connection reads its next message into
// another buffer. It is what a command calls that keeps a part of the request, such as the filter
// of an open cursor.
func (r *Request) Retain() { r.Retained = true }

// retainCursor readies a cursor to outlive the request that opened it: its owner is the request's,
// and it keeps the request's bytes.
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

// Exhaust asks for the command to run again at once after this reply, in a stream, if the client
// allowed that; next is the body to run then, nil for the same one. It reports whether the client
// did.
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

// CloseConnection lets the connection end after the reply.
func (r *Request) CloseConnection() { r.Reply.CloseConn = true }

// Owner returns who a cursor of this request belongs to.
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

// Work is what an open transaction of a session consists of.
type Work struct {
	table.Transaction
	Service *Service
	Open    *session.Transaction
	// cursors says that there may be cursors that read from the transaction.
	cursors bool
}

// Abort implements session.Work.
func (w *Work) Abort() {
	w.CloseCursors()
	w.Transaction.Abort()
}

// CloseCursors closes the cursors that read from the transaction.
func (w *Work) CloseCursors() {
	if w.cursors {
		w.Service.Cursors.KillTransaction(w.Open.Session.ID, w.Open.Number)
	}
}

// Txn returns the transaction that the request reads and writes, nil outside of transactions.
func (r *Request) Txn() table.Transaction {
	if r.Work == nil {
		return nil
	}
	return r.Work.Transaction
}
