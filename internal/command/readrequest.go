package command

import (
	"context"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/pipeline"
	"github.com/sheafdb/sheaf/internal/read"
	"github.com/sheafdb/sheaf/internal/session"
	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/table"
)

// This file joins requests and the read engine.

// initRead gives the read engine what it works with.
func (s *Service) initRead() {
	e := &s.Read
	e.Store, e.Planner, e.Clock, e.Memory, e.TempDir, e.NoScripting = s.Store, s.Planner, s.Clock, s.Memory, s.TempDir, s.NoScripting
	if s.Replicates() {
		e.Order = s.Order
	}
	e.Virtual = func(c *table.Collection, local string) pipeline.Source { return s.readVirtual(c, local) }
	e.Diagnostics = func(on read.Subject) pipeline.Diagnostics { return s.Diagnostics(s, on) }
	e.DisabledRules = s.disabledRules
	e.ImageExpired = func(kept time.Time) bool { return s.images.Load().expired(kept, s.Clock.Now()) }
	e.Init()
}

// Reads returns what the request reads.
func (r *Request) Reads() read.Reads {
	local := ""
	if r.Conn != nil { // a request that $out or $merge makes has none
		local = r.Conn.Local
	}
	return r.Service.Read.Reads(r.Txn(), r.Snapshot, r.Meant, local)
}

// Pipelines returns what runs the pipelines of a request.
func (r *Request) Pipelines(sc read.Scope) *read.Pipelines {
	p := r.Reads().Pipelines(sc, read.PipelineOptions{
		AllowDiskUse: r.BoolOr("allowDiskUse", true), Hint: r.Get("hint"), User: r.Conn.Digest,
	})
	if r.Service.StageWriter != nil {
		p.Writer = r.Service.StageWriter(r, p)
	}
	return p
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
	r.RetainCursor(c)
	return r.Service.Cursors.Register(c)
}

// RunChangeStream opens a change stream, and answers with the events that are there already.
func (r *Request) RunChangeStream(ctx context.Context, sc read.Scope, name string, arg bsonx.Value, size int64, reply *bsonx.Builder) error {
	src, err := r.Reads().OpenChangeStream(sc, r.DB, name, arg, r.Get("pipeline"))
	if err != nil {
		return err
	}
	if name == "" {
		name = read.NoCollection
	}
	b := read.Batch{
		Req: r, Field: "firstBatch", Size: size, Source: src, StaysOpen: src.StaysOpen,
		Cursor: &session.Cursor{Source: src, DB: r.DB, Collection: name, Owner: r.Owner(), Tailable: true, AwaitData: true},
	}
	return b.First(ctx, reply)
}

// AwaitTime returns for how long a getMore waits for documents.
func (r *Request) AwaitTime() time.Duration {
	if r.Generic.HasMaxTime {
		return time.Duration(r.Generic.MaxTimeMillis) * time.Millisecond
	}
	return read.DefaultAwait
}

// CursorFields are the fields of a command's cursor option.
var CursorFields = []Field{{Name: "batchSize", Type: SafeInt, Check: AtLeast(0)}}

// RunStages runs stages over a collection or view, or over none, and answers with a cursor.
func (r *Request) RunStages(ctx context.Context, sc read.Scope, name string, own read.OwnStages, size int64, reply *bsonx.Builder) error {
	src, err := r.OpenStages(ctx, sc, name, own)
	if err != nil {
		return err
	}
	if name == "" {
		name = read.NoCollection
	}
	r.Op.SetPlan(src.Plan, nil)
	r.Op.Debug.PlanSummary = src.Plan
	b := read.Batch{
		Req: r, Field: "firstBatch", During: read.DuringAggregate, Size: size, Single: r.Bool("singleBatch"), Source: src,
		Cursor: &session.Cursor{Source: src, DB: r.DB, Collection: name, Owner: r.Owner(), Plan: src.Plan},
	}
	return b.First(ctx, reply)
}

// OpenStages opens stages over a collection or view.
func (r *Request) OpenStages(ctx context.Context, sc read.Scope, name string, own read.OwnStages) (*read.StageSource, error) {
	return r.Pipelines(sc).OpenOwn(ctx, r.DB, name, own, sc.Vars)
}

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

// WriteKind returns the kind of a statement that errors name: findAndModify, or else kind.
func (r *Request) WriteKind(kind string) string {
	if r.Def != nil && r.Def.Name == "findAndModify" {
		return r.Def.Name
	}
	return kind
}

// setHistoryWindow changes for how long a snapshot can be read that is held, and, as someone cares for the past, any time of it.
func (s *Service) setHistoryWindow(seconds int64) {
	s.Read.Snapshots.SetWindow(seconds)
	if s.Store != nil {
		s.Store.History().Keep(time.Duration(seconds) * time.Second)
	}
}

// ReadsSnapshot reports whether the request reads a snapshot that is not a transaction's or a cursor's: drivers send the level
// with getMore too.
func (r *Request) ReadsSnapshot() bool {
	return r.Generic.ReadConcern.Level == levelSnapshot && !r.Generic.InTransaction() && r.Def.Name != "getMore" && r.Service.Store != nil
}

// HoldSnapshot gives a request that reads with the level "snapshot" what it reads; done must follow.
func (s *Service) HoldSnapshot(req *Request) (err error) {
	req.Snapshot, err = s.Read.Snapshots.Hold(req.Op, s.Store, req.Generic.ReadConcern.AtClusterTime, req.Session, req.Now)
	return err
}
