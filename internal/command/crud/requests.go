package crud

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/read"
	"github.com/sheafdb/sheaf/internal/retryable"
	"github.com/sheafdb/sheaf/internal/session"
	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/table"
	"github.com/sheafdb/sheaf/internal/update"
	"github.com/sheafdb/sheaf/internal/write"
)

// readable returns the collection that a command reads, or nil if it does not exist. A view is an
// error.
func readable(r *command.Request) (name string, c *table.Collection, err error) {
	name, err = r.Collection()
	if err != nil {
		return "", nil, err
	}
	c, err = r.Lookup(name)
	if err != nil {
		return "", nil, err
	}
	if c != nil && c.Kind == catalog.KindView {
		return "", nil, mongoerr.New(mongoerr.NotImplemented, "reading the view %s.%s is not supported yet", r.DB, name)
	}
	return name, c, nil
}

// writeOptions returns the options that all statements of a write command share. Durable commits do
// not sync on their own; they wait for one sync at the end of the command.
func writeOptions(r *command.Request) write.Options {
	return write.Options{
		Ordered:          r.BoolOr("ordered", true) || r.Work != nil,
		BypassValidation: r.Bool("bypassDocumentValidation"),
		Durability:       r.Durability(storage.Deferred),
		Deferred:         &r.Deferred,
		Stamp:            &r.Op.Stamp,
		View:             r.Writable(),
		Retry:            r.Retries(),
	}
}

// singleCommit changes opts if once is true, which means that the command makes only one commit.
// That commit syncs itself; it does not leave the sync to the end of the command.
func singleCommit(r *command.Request, opts write.Options, once bool) write.Options {
	if once {
		opts.Durability = r.Durability(storage.Durable)
	}
	return opts
}

// appendWriteErrors appends the field writeErrors, if there are errors. It marks the request as
// failed, which aborts its transaction.
func appendWriteErrors(r *command.Request, reply *bsonx.Builder, e *writeErrors) {
	r.Failed = r.Failed || len(e.items) > 0
	r.Service.Stats.UserErrors.Add(int64(len(e.items)))
	e.append(reply)
}

// updateEnv returns the environment of an update: time, timestamps and interruption. vars are the
// variables of the command.
func updateEnv(r *command.Request, vars *expr.Vars) update.Env {
	return update.Env{
		Now: r.Now, Timestamp: r.Service.NextTime, KeepTimestamps: r.Bool(keepTimestamps),
		Running: vars.Scripts().Running,
	}
}

// insertTime returns the function that replaces Timestamp(0, 0) in new documents, or nil if the
// request keeps such timestamps.
func insertTime(r *command.Request) func() (t, i uint32) {
	if r.Bool(keepTimestamps) {
		return nil
	}
	return r.Service.NextTime
}

// checkBuckets returns an error if isTimeseriesNamespace is set and name is not the name of a
// bucket collection.
func checkBuckets(r *command.Request, name string) error {
	if r.Bool(isTimeseriesNamespace.Name) && !strings.HasPrefix(name, "system.buckets.") {
		return mongoerr.New(codeNotBuckets, "'isTimeseriesNamespace' parameter can only be set when the request is sent on system.buckets namespace")
	}
	return nil
}

// pipelinesOf returns an executor for pipelines of a request.
func pipelinesOf(r *command.Request, sc read.Scope) *read.Pipelines {
	p := r.Reads().Pipelines(sc, read.PipelineOptions{
		AllowDiskUse: r.BoolOr("allowDiskUse", true), Hint: r.Get("hint"), User: r.Conn.Digest,
	})
	p.Writer = newStageWriter(r, p)
	return p
}

// runChangeStream opens a change stream and replies with the events that already exist.
func runChangeStream(ctx context.Context, r *command.Request, sc read.Scope, name string, arg bsonx.Value,
	size int64, reply *bsonx.Builder,
) error {
	src, err := r.Reads().OpenChangeStream(sc, r.DB, name, arg, r.Get("pipeline"))
	if err != nil {
		return err
	}
	if name == "" {
		name = read.NoCollection
	}
	b := read.Batch{
		Req: r, Field: "firstBatch", Size: size, Source: src, StaysOpen: src.StaysOpen,
		Cursor: &session.Cursor{
			Source: src, DB: r.DB, Collection: name, Owner: r.Owner(),
			Tailable: true, AwaitData: true,
		},
	}
	return b.First(ctx, reply)
}

// awaitTime returns how long a getMore waits for new documents.
func awaitTime(r *command.Request) time.Duration {
	if r.Generic.HasMaxTime {
		return time.Duration(r.Generic.MaxTimeMillis) * time.Millisecond
	}
	return read.DefaultAwait
}

// runStages runs stages and replies with a cursor. name is a collection or view, or empty if the
// stages need no collection.
func runStages(ctx context.Context, r *command.Request, sc read.Scope, name string, own read.OwnStages,
	size int64, reply *bsonx.Builder,
) error {
	src, err := openStages(ctx, r, sc, name, own)
	if err != nil {
		return err
	}
	if name == "" {
		name = read.NoCollection
	}
	r.Op.SetPlan(src.Plan, nil)
	r.Op.Debug.PlanSummary = src.Plan
	b := read.Batch{
		Req: r, Field: "firstBatch", During: read.DuringAggregate, Size: size,
		Single: r.Bool("singleBatch"), Source: src,
		Cursor: &session.Cursor{Source: src, DB: r.DB, Collection: name, Owner: r.Owner(), Plan: src.Plan},
	}
	return b.First(ctx, reply)
}

// openStages opens stages over a collection or view, or over nothing if name is empty.
func openStages(ctx context.Context, r *command.Request, sc read.Scope, name string,
	own read.OwnStages,
) (*read.StageSource, error) {
	return pipelinesOf(r, sc).OpenOwn(ctx, r.DB, name, own, sc.Vars)
}

// writeKind returns the name of a statement in error messages: the Statement of its command, or
// kind if that is empty.
func writeKind(r *command.Request, kind string) string {
	if r.Def == nil {
		return kind
	}
	return cmp.Or(r.Def.Statement, kind)
}

// readCollection is Request.Collection for find and distinct, which also refuse a name with a
// dollar sign.
func readCollection(r *command.Request) (string, error) {
	name, err := r.Collection()
	if err == nil && strings.IndexByte(name, '$') >= 0 {
		err = mongoerr.New(mongoerr.InvalidNamespace, "Invalid collection name specified '%s.%s'", r.DB, name)
	}
	return name, err
}

// readStatements reads the statement ids of the request (stmtId or stmtIds), which must match its n
// statements.
func readStatements(r *command.Request, n int) error {
	id, ids := r.Get("stmtId"), r.Get("stmtIds")
	if id.IsMissing() && ids.IsMissing() {
		return nil
	}
	var numbers []int32
	if !ids.IsMissing() {
		for i, v := range read.Elements(ids) {
			if v.Type != bsonx.TypeInt32 {
				return command.WrongType(r.Def.Name+".stmtIds."+bsonx.IndexKey(i), v.Type, command.Int)
			}
			numbers = append(numbers, v.Int32())
		}
		if len(numbers) != n {
			return mongoerr.New(mongoerr.InvalidLength, "Number of statement ids must match the number of batch entries. "+
				"Got %d statement ids but %d operations. Statement ids: %s. Write command: %s",
				len(numbers), n, bsonx.FormatShell(bsonx.Document(bsonx.NewDoc("stmtIds", ids))),
				bsonx.FormatShell(bsonx.Document(r.Body)))
		}
		if !id.IsMissing() {
			return mongoerr.New(mongoerr.InvalidOptions, "May not specify both stmtId and stmtIds in write command. Got %s. Write command: %s",
				bsonx.FormatShell(bsonx.Document(bsonx.NewDoc("stmtId", id, "stmtIds", ids))),
				bsonx.FormatShell(bsonx.Document(r.Body)))
		}
	}
	if r.Retry == nil {
		return nil
	}
	r.Retry.Write.IDs = numbers
	if !id.IsMissing() {
		r.Retry.Write.First = id.Int32()
	}
	return nil
}

// executed returns the record of statement i from an earlier attempt of the command, or nil if the
// statement must run.
func executed(r *command.Request, i int) *retryable.Record {
	if r.Retry == nil || len(r.Retry.History.Records) == 0 {
		return nil
	}
	id := r.Retry.Write.Statement(i)
	rec := r.Retry.History.Find(id)
	if rec != nil {
		r.Retry.Retried = append(r.Retry.Retried, id)
	}
	return rec
}

// appendRetried appends the ids of the statements that were not run again.
func appendRetried(r *command.Request, reply *bsonx.Builder) {
	if r.Retry == nil || len(r.Retry.Retried) == 0 {
		return
	}
	reply.StartArrayField("retriedStmtIds")
	for _, id := range r.Retry.Retried {
		reply.Elem(bsonx.Int32(id))
	}
	reply.End()
}

// checkRetryOfMany returns an error for a retryable statement with multi: true.
func checkRetryOfMany(r *command.Request, multi bool) error {
	if r.Retry == nil || !multi {
		return nil
	}
	return mongoerr.New(mongoerr.InvalidOptions, "Cannot use (or request) retryable writes with multi=true")
}
