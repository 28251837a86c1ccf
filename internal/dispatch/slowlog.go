package dispatch

import (
	"context"
	"log/slog"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/clock"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/session"
)

const (
	// slowQueryID is the id of mongod's log line about a slow operation. Log tools search for it.
	slowQueryID = 51803
	// maxLoggedCommand is the largest command in bytes that a log line shows completely.
	maxLoggedCommand = 10 << 10
	// maxLoggedSpaces is the largest number of a bulkWrite's namespaces that a log line shows.
	maxLoggedSpaces = 100
)

// afterRun updates the counters after a command, and logs it if it was slow.
func afterRun(s *command.Service, e *command.Entry, req *command.Request, err error) {
	if req.Begun && e.Counter != command.CountNone {
		req.Count(e.Counter, 1)
	}
	if err != nil {
		countError(s, err)
		s.Stats.Ended.Count(req, err)
	}
	s.Stats.CountWork(&req.Conn.Op.Debug)
	took := clock.Since(s.Clock, req.Now) - req.Conn.Op.Debug.Waited
	countLatency(s, e, req, took)
	if e.NoSlowLog {
		return
	}
	entry := func() bsonx.Doc { return slowEntry(req, took, err) }
	if s.Verbosity.Of("command") > 0 || s.SlowPolicy.Load().Logs(took, s.Slow.Load(), entry) {
		logSlow(s, req, took, err)
	}
}

// logSlow writes the log line "Slow query", with the same attributes as mongod.
func logSlow(s *command.Service, req *command.Request, took time.Duration, err error) {
	d := &req.Conn.Op.Debug
	attrs := make([]slog.Attr, 0, 24)
	attrs = append(attrs,
		slog.Int("id", slowQueryID),
		slog.String("c", "COMMAND"),
		slog.String("ctx", command.ConnName(req.Conn.ID)),
		slog.String("type", kindOf(req)),
		slog.String("ns", req.Namespace()),
	)
	if spaces := req.Namespaces(); len(spaces) > 1 {
		attrs = append(attrs, slog.Any("namespaces", spaces[:min(len(spaces), maxLoggedSpaces)]))
	}
	if req.Conn.ClientApp != "" {
		attrs = append(attrs, slog.String("appName", req.Conn.ClientApp))
	}
	attrs = append(attrs, slog.Any("command", loggedCommand(req)))
	if d.Origin != nil && len(d.Origin) <= maxLoggedCommand {
		attrs = append(attrs, slog.Any("originatingCommand", loggedDoc(d.Origin)))
	}
	attrs = appendDebug(req.Op, attrs, d)
	if err != nil {
		e := mongoerr.CodeOf(err)
		attrs = append(attrs, slog.Bool("ok", false), slog.String("errMsg", err.Error()),
			slog.String("errName", e.Name()), slog.Int("errCode", int(e)))
	}
	attrs = append(attrs,
		slog.Int("reslen", d.ResponseLength),
		slog.String("remote", req.Conn.Remote),
		slog.String("protocol", "op_msg"),
		slog.Int64("durationMillis", took.Milliseconds()),
	)
	s.Logger.LogAttrs(req.Op, slog.LevelInfo, "Slow query", attrs...)
}

func appendDebug(ctx context.Context, attrs []slog.Attr, d *session.OpDebug) []slog.Attr {
	if d.PlanSummary != nil {
		attrs = append(attrs, slog.String("planSummary", d.PlanSummary.Summary()))
	}
	if h, ok := d.PlanSummary.(interface {
		Hashes(ctx context.Context) (shape, key string)
	}); ok {
		if shape, key := h.Hashes(ctx); shape != "" {
			attrs = append(attrs, slog.String("queryHash", shape), slog.String("planCacheShapeHash", shape),
				slog.String("planCacheKey", key))
		}
	}
	if d.CursorID != 0 {
		attrs = append(attrs, slog.Int64("cursorid", d.CursorID))
	}
	for _, n := range d.Counts() {
		if n.Value >= 0 {
			attrs = append(attrs, slog.Int64(n.Name, n.Value))
		}
	}
	for _, f := range [...]struct {
		name string
		set  bool
	}{
		{"hasSortStage", d.HasSortStage},
		{"usedDisk", d.UsedDisk},
		{"fromPlanCache", d.FromPlanCache},
		{"cursorExhausted", d.CursorExhausted},
	} {
		if f.set {
			attrs = append(attrs, slog.Bool(f.name, true))
		}
	}
	if d.WriteConflicts > 0 {
		attrs = append(attrs, slog.Int64("writeConflicts", d.WriteConflicts))
	}
	return attrs
}

// kindOf returns the name of the kind of operation in logs.
func kindOf(req *command.Request) string {
	if req.Def.Kind == "" {
		return "command"
	}
	return req.Def.Kind
}

// loggedDoc is a document in a log record. A JSON log has it as an object, a text log in the syntax
// of the shell.
type loggedDoc bsonx.Doc

// MarshalJSON implements json.Marshaler.
func (d loggedDoc) MarshalJSON() ([]byte, error) {
	return bsonx.AppendExtJSON(nil, bsonx.Document(bsonx.Doc(d)), false)
}

// String implements fmt.Stringer.
func (d loggedDoc) String() string { return command.FormatDoc(bsonx.Doc(d)) }

// MarshalText implements encoding.TextMarshaler.
func (d loggedDoc) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// loggedCommand returns the command for a log line. A command over maxLoggedCommand is reduced to
// its first field and its size.
func loggedCommand(req *command.Request) loggedDoc {
	switch {
	case req.Def.Secret != feature.No:
		return loggedDoc(bsonx.NewDoc(req.Name, "xxx"))
	case len(req.Body) > maxLoggedCommand:
		return loggedDoc(bsonx.NewDoc(req.Name, shortened(req.CommandValue()), "truncatedBytes", len(req.Body)))
	}
	return loggedDoc(req.Body)
}

// shortened returns the value of a command's own field for a log line. If it is a large command
// inside explain, only the first field of that command is kept, as in {find: "coll"}.
func shortened(v bsonx.Value) bsonx.Value {
	switch {
	case len(v.Data) <= maxLoggedCommand:
		return v
	case v.Type == bsonx.TypeDocument:
		first := v.Doc().First()
		if len(first.Key) <= maxLoggedCommand && len(first.Value.Data) <= maxLoggedCommand {
			return bsonx.Document(bsonx.NewDoc(string(first.Key), first.Value))
		}
	default:
	}
	return bsonx.String("...")
}

// slowEntry returns the document for an operation that MongoDB's profiler would store. The filter
// of the command profile matches it.
func slowEntry(req *command.Request, took time.Duration, err error) bsonx.Doc {
	d := &req.Conn.Op.Debug
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	b.String("op", kindOf(req))
	b.String("ns", req.Namespace())
	if req.Def.Secret == feature.No {
		b.Doc("command", req.Body)
	}
	if d.PlanSummary != nil {
		b.String("planSummary", d.PlanSummary.Summary())
	}
	for _, n := range d.Counts() {
		if n.Value >= 0 {
			b.Int64(n.Name, n.Value)
		}
	}
	if err != nil {
		e := mongoerr.CodeOf(err)
		b.String("errMsg", err.Error())
		b.String("errName", e.Name())
		b.Int32("errCode", int32(e))
	}
	b.Int64("responseLength", int64(d.ResponseLength))
	b.Int64("millis", took.Milliseconds())
	b.Date("ts", req.Now.UnixMilli())
	b.String("client", req.Conn.Remote)
	b.String("appName", req.Conn.ClientApp)
	b.End()
	return b.Bytes()
}
