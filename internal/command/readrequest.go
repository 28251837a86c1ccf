package command

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/read"
	"github.com/sheafdb/sheaf/internal/session"
	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/table"
)

// This file connects requests to the read engine.

// Reads returns access to the data that the request reads: its transaction, its snapshot, or the
// newest state.
func (r *Request) Reads() read.Reads {
	local := ""
	if r.Conn != nil { // a request that $out or $merge makes has no connection
		local = r.Conn.Local
	}
	return r.Service.Read.Reads(viewOf(r), r.Meant, local)
}

// Lookup returns a collection or view of the request's database, or nil if it does not exist.
func (r *Request) Lookup(name string) (*table.Collection, error) { return r.Reads().Lookup(r.DB, name) }

// BaseVars returns the scope of a command's expressions without the variables of its let.
func (r *Request) BaseVars() *expr.Vars {
	if r.Conn.scripting == nil {
		r.Conn.scripting = r.Service.Read.NewScripting()
	}
	return r.Conn.scripting.Begin(r.Op, r.DB)
}

// Operation implements read.Command.
func (r *Request) Operation() *session.Op { return r.Op }

// ReadTime implements read.Command.
func (r *Request) ReadTime() storage.Stamp {
	if r.Snapshot == nil {
		return 0
	}
	return r.Snapshot.At
}

// StartBatch implements read.Command.
func (r *Request) StartBatch() *read.Output {
	r.Reply.Batch = true
	out := &r.Conn.Output
	out.Limit = r.Service.BatchBytes
	return out
}

// KeepCursor implements read.Command.
func (r *Request) KeepCursor(c *session.Cursor) (int64, error) {
	r.retainCursor(c)
	return r.Service.Cursors.Register(c)
}

// CursorFields are the fields of the argument cursor.
var CursorFields = []Field{{Name: "batchSize", Type: SafeInt, Check: AtLeast(0)}}

// ReplyList replies with a cursor over a list of documents. collection is the collection part of
// the cursor's namespace.
func ReplyList(ctx context.Context, req *Request, reply *bsonx.Builder, collection string, docs read.List) error {
	size, err := req.ListBatch()
	if err != nil {
		return err
	}
	src := docs.Source()
	b := read.Batch{
		Req: req, Field: "firstBatch", Size: size, Source: src, Single: src.IsDone(ctx),
		Cursor: &session.Cursor{Source: src, DB: req.DB, Collection: collection, Owner: req.Owner()},
	}
	err = b.First(ctx, reply)
	if collection != BulkWriteCursor {
		req.Op.Debug.NReturned = -1 // entries of the catalog do not count as returned documents
	}
	return err
}

// ListBatch returns the size of the first batch that the client asks for, or -1 if it does not ask
// for a size.
func (r *Request) ListBatch() (int64, error) {
	size := int64(-1)
	cursor := r.Doc("cursor")
	if cursor == nil {
		return size, nil
	}
	err := ParseFields(r.Def.Name+".cursor", cursor, CursorFields, func(_ int, v bsonx.Value) error {
		size = bsonx.SaturatingInt64(v)
		return nil
	})
	return size, err
}
