package crud

import (
	"context"
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/dispatch"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/read"
	"github.com/sheafdb/sheaf/internal/session"
	"github.com/sheafdb/sheaf/internal/table"
)

// GetMoreCommands returns the definition of getMore.
func GetMoreCommands() []command.Definition {
	return []command.Definition{{
		Name: "getMore", Help: "Returns the next batch of a cursor.",
		Properties: command.Properties{
			Writes: feature.No, Transactions: feature.Yes, StableAPI: feature.Yes, Expendable: feature.Yes,
			Secret: feature.No, AdminOnly: feature.No,
		},
		Run: runGetMore, Read: true, Snapshot: true, Kind: "getmore", Counter: command.CountGetMore,
		Latency: table.LatencyReads, Traffic: table.TrafficGetMore,
		CommandField: command.Long, CollectionField: "collection", OnCursors: true, OwnMaxTime: true,
		Fields: []command.Field{
			{Name: "collection", Type: command.String, Required: true},
			{Name: "batchSize", Type: command.SafeInt, Check: command.AtLeast(0)},
			{Name: "term", Type: command.Long, Unstable: true},
			{Name: "lastKnownCommittedOpTime", Unstable: true, Check: checkOpTime},
			{Name: "includeQueryStatsMetrics", Type: command.OptionalBool, Unstable: true},
		},
	}}
}

// moreSource is a source with the additional methods that getMore uses for tailable cursors and
// early ends.
type moreSource interface {
	read.Tailed
	read.Ender
	// Rest delays a getMore that would return only few documents.
	Rest(ctx context.Context, op *session.Op) error
}

func runGetMore(ctx context.Context, req *command.Request, reply *bsonx.Builder) error {
	name := req.String("collection")
	switch err := catalog.CheckCollectionName(req.DB, name); {
	case name == "":
		return mongoerr.New(mongoerr.InvalidNamespace, "Collection names cannot be empty")
	case strings.IndexByte(name, 0) >= 0:
		return mongoerr.New(mongoerr.InvalidNamespace, "Collection names cannot have embedded null characters")
	case err != nil:
		return err
	}
	cursors := req.Service.Cursors
	cursor, err := cursors.Pin(req.CommandValue().Int64(), req.DB+"."+name, req.Owner(), req.Op)
	if err != nil {
		return err
	}
	if err := command.CheckSameAPI(req, cursor.API, "cursor-creating command"); err != nil {
		_ = cursors.Unpin(cursor)
		return err
	}
	if req.Generic.HasMaxTime && !cursor.AwaitData {
		_ = cursors.Unpin(cursor)
		return mongoerr.New(mongoerr.BadValue, "cannot set maxTimeMS on getMore command for a non-awaitData cursor")
	}
	size := req.Int64("batchSize", 0)
	if size == 0 {
		size = -1 // as many documents as fit in a reply
	}
	b := read.Batch{Req: req, Cursor: cursor, Field: "nextBatch", During: read.DuringFind, Size: size}
	src, _ := read.UnderSnapshot(cursor.Source).(moreSource)
	if src != nil {
		b.Source = src
		if cursor.AwaitData {
			b.Await = read.NewAwaiter(req.Op, req.Service.Clock, src, awaitTime(req)).Wait
		}
	}
	_, req.Reply.Changes = src.(read.Resumable)
	if err := dispatch.FailGetMore(req); err != nil {
		cursors.Remove(cursor)
		return err
	}
	req.Op.SetPlan(cursor.Plan, cursor.Command)
	req.Op.Debug.PlanSummary, req.Op.Debug.Origin = cursor.Plan, cursor.Command
	reply.StartDocField("cursor")
	if src != nil && b.Await != nil {
		if err := src.Rest(ctx, req.Op); err != nil {
			cursors.Remove(cursor)
			return err
		}
	}
	end, err := b.Fill(ctx, reply)
	if err != nil || end && !cursor.Tailable || b.Finished(ctx) {
		cursors.Remove(cursor)
		b.Close(reply, 0)
		return err
	}
	id := cursor.ID()
	streams := mayStream(req, cursor)
	if err := cursors.Unpin(cursor); err != nil {
		return err
	}
	b.Close(reply, id)
	if streams {
		req.Exhaust(nil)
	}
	return nil
}

// mayStream reports whether the getMore may run again without a request, if the client allows an
// exhaust stream. It returns false if the cursor returned no documents and does not wait for new
// documents: such a cursor would send empty batches in a loop.
func mayStream(r *command.Request, c *session.Cursor) bool {
	if r.Op.Debug.NReturned > 0 {
		return true
	}
	return c.AwaitData && (!r.Generic.HasMaxTime || r.Generic.MaxTimeMillis > 0)
}

const codeNotAnObject = mongoerr.Code(10065)

// opTimeFields are the fields of an optime, a position in the oplog.
var opTimeFields = []command.Field{
	{Name: "ts", Type: command.Timestamp, Required: true},
	{Name: "t", Type: command.Long, Required: true},
}

// checkOpTime returns an error unless v is a valid optime. It ignores further fields.
func checkOpTime(name string, v bsonx.Value) error {
	if v.Type != bsonx.TypeDocument && v.Type != bsonx.TypeArray {
		return mongoerr.New(codeNotAnObject, "invalid parameter: expected an object (%s)", name)
	}
	for i := range opTimeFields {
		f := &opTimeFields[i]
		value := v.Doc().Lookup(f.Name)
		if value.IsMissing() || command.IsAbsent(value) {
			return command.MissingField("OpTimeBase." + f.Name)
		}
		if _, err := command.CheckField("OpTimeBase", f, value); err != nil {
			return err
		}
	}
	return nil
}
