package command

import (
	"context"
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/session"
)

func getMoreCommands() []Definition {
	return []Definition{{
		Name: "getMore", Help: "Returns the next batch of a cursor.",
		InTransaction: true, Run: runGetMore, Read: true, Snapshot: true, API1: true, Kind: "getmore", Counter: CountGetMore, CommandField: Long, OwnMaxTime: true,
		Fields: []Field{
			{Name: "collection", Type: String, Required: true},
			{Name: "batchSize", Type: SafeInt, Check: AtLeast(0)},
			{Name: "term", Type: Long, Unstable: true},
			{Name: "lastKnownCommittedOpTime", Unstable: true, Check: checkOpTime},
			{Name: "includeQueryStatsMetrics", Type: OptionalBool, Unstable: true},
		},
	}}
}

// moreSource is a source of which a getMore wants more than documents.
type moreSource interface {
	tailed
	ender
	// rest holds a getMore back that would get little.
	rest(ctx context.Context, req *Request) error
}

func runGetMore(ctx context.Context, req *Request, reply *bsonx.Builder) error {
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
	if err := req.checkSameAPI(cursor.API, "cursor-creating command"); err != nil {
		_ = cursors.Unpin(cursor)
		return err
	}
	if req.Generic.HasMaxTime && !cursor.AwaitData {
		_ = cursors.Unpin(cursor)
		return mongoerr.New(mongoerr.BadValue, "cannot set maxTimeMS on getMore command for a non-awaitData cursor")
	}
	size := req.Int64("batchSize", 0)
	if size == 0 {
		size = -1 // as many as fit
	}
	b := batch{req: req, cursor: cursor, field: "nextBatch", during: duringFind, size: size}
	src, _ := underSnapshot(cursor.Source).(moreSource)
	if src != nil {
		b.source = src
		if cursor.AwaitData {
			b.await = newAwaiter(req, src).wait
		}
	}
	_, req.reply.changes = src.(resumable)
	if err := req.Service.failPoints.getMore(req); err != nil {
		cursors.Remove(cursor)
		return err
	}
	req.Op.SetPlan(cursor.Plan, cursor.Command)
	req.Op.Debug.PlanSummary, req.Op.Debug.Origin = cursor.Plan, cursor.Command
	reply.StartDocField("cursor")
	if src != nil && b.await != nil {
		if err := src.rest(ctx, req); err != nil {
			cursors.Remove(cursor)
			return err
		}
	}
	end, err := b.fill(ctx, reply)
	if err != nil || end && !cursor.Tailable || b.finished(ctx) {
		cursors.Remove(cursor)
		b.close(reply, 0)
		return err
	}
	id := cursor.ID()
	streams := req.mayStream(cursor)
	if err := cursors.Unpin(cursor); err != nil {
		return err
	}
	b.close(reply, id)
	if streams {
		req.Exhaust(nil)
	}
	return nil
}

// mayStream reports whether the getMore may run again at once, where the client allows that. A cursor that neither has
// documents nor waits for some would send empty batches without end.
func (r *Request) mayStream(c *session.Cursor) bool {
	if r.Op.Debug.NReturned > 0 {
		return true
	}
	return c.AwaitData && (!r.Generic.HasMaxTime || r.Generic.MaxTimeMillis > 0)
}

const codeNotAnObject = mongoerr.Code(10065)

// opTimeFields are the fields of a time in the oplog.
var opTimeFields = []Field{{Name: "ts", Type: Timestamp, Required: true}, {Name: "t", Type: Long, Required: true}}

// checkOpTime judges a time in the oplog that a member sends; its other fields do not matter.
func checkOpTime(name string, v bsonx.Value) error {
	if v.Type != bsonx.TypeDocument && v.Type != bsonx.TypeArray {
		return mongoerr.New(codeNotAnObject, "invalid parameter: expected an object (%s)", name)
	}
	for i := range opTimeFields {
		f := &opTimeFields[i]
		value := v.Doc().Lookup(f.Name)
		if value.IsMissing() || absent(value) {
			return MissingField("OpTimeBase." + f.Name)
		}
		if _, err := checkField("OpTimeBase", f, value); err != nil {
			return err
		}
	}
	return nil
}
