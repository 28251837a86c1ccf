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

// This file joins requests and the read engine.

// Reads returns what the request reads.
func (r *Request) Reads() read.Reads {
	local := ""
	if r.Conn != nil { // a request that $out or $merge makes has none
		local = r.Conn.Local
	}
	return r.Service.Read.Reads(viewOf(r), r.Meant, local)
}

// viewOf returns the state that a request reads.
func viewOf(r *Request) table.View {
	switch {
	case r.Work != nil:
		return r.Work.Transaction
	case r.Snapshot != nil:
		return r.Snapshot
	}
	return r.Service.Store.Newest()
}

// BaseVars is the scope of a command's expressions without its let.
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
	out.Limit = r.Service.batchBytes
	return out
}

// KeepCursor implements read.Command.
func (r *Request) KeepCursor(c *session.Cursor) (int64, error) {
	r.retainCursor(c)
	return r.Service.Cursors.Register(c)
}

// CursorFields are the fields of a command's cursor option.
var CursorFields = []Field{{Name: "batchSize", Type: SafeInt, Check: AtLeast(0)}}

// ReplyList answers with a cursor over a list.
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
		req.Op.Debug.NReturned = -1 // what a list tells of the catalog does not count as documents
	}
	return err
}

// ListBatch returns the size of the first batch of a list, -1 where the command does not say it.
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
