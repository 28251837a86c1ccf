package command

import (
	"log/slog"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/session"
)

const (
	// defaultSlowMillis is from when on an operation is logged as slow.
	defaultSlowMillis = 100
	// slowQueryID is the id of mongod's slow-operation line, which log tools look for.
	slowQueryID = 51803
	// maxLoggedCommand is how many bytes of a command a log line shows.
	maxLoggedCommand = 10 << 10
)

// SetSlowMillis changes from when on operations are logged; a negative number logs none.
func (s *Service) SetSlowMillis(ms int64) { s.slow.Store(ms) }

// afterRun counts the command and logs it when it was slow.
func (s *Service) afterRun(e *entry, req *Request, err error) {
	if e.Counter != CountNone {
		s.stats.opcounters[e.Counter].Add(1)
	}
	if err != nil {
		s.countError(err)
	}
	s.stats.countWork(&req.Conn.Op.Debug)
	took := s.Clock.Now().Sub(req.Now) - req.Conn.Op.Debug.Waited
	s.countLatency(e, req, took)
	slow := s.slow.Load()
	if slow < 0 || e.NoSlowLog {
		return
	}
	if took >= time.Duration(slow)*time.Millisecond {
		s.logSlow(req, took, err)
	}
}

// logSlow writes mongod's "Slow query" line; its attributes have mongod's names.
func (s *Service) logSlow(req *Request, took time.Duration, err error) {
	d := &req.Conn.Op.Debug
	kind := req.Def.Kind
	if kind == "" {
		kind = "command"
	}
	attrs := make([]slog.Attr, 0, 24)
	attrs = append(attrs,
		slog.Int("id", slowQueryID),
		slog.String("c", "COMMAND"),
		slog.String("ctx", connName(req.Conn.ID)),
		slog.String("type", kind),
		slog.String("ns", req.namespace()),
	)
	if req.Conn.appName != "" {
		attrs = append(attrs, slog.String("appName", req.Conn.appName))
	}
	attrs = append(attrs, slog.String("command", loggedCommand(req)))
	attrs = appendDebug(attrs, d)
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

func appendDebug(attrs []slog.Attr, d *session.OpDebug) []slog.Attr {
	if d.PlanSummary != nil {
		attrs = append(attrs, slog.String("planSummary", d.PlanSummary.Summary()))
	}
	if d.QueryHash != "" {
		attrs = append(attrs, slog.String("planCacheShapeHash", d.QueryHash), slog.String("planCacheKey", d.PlanCacheKey))
	}
	if d.CursorID != 0 {
		attrs = append(attrs, slog.Int64("cursorid", d.CursorID))
	}
	for _, n := range [...]struct {
		name  string
		value int64
	}{
		{"keysExamined", d.KeysExamined},
		{"docsExamined", d.DocsExamined},
		{"nMatched", d.NMatched},
		{"nModified", d.NModified},
		{"ninserted", d.NInserted},
		{"ndeleted", d.NDeleted},
		{"nUpserted", d.NUpserted},
		{"keysInserted", d.KeysInserted},
		{"keysDeleted", d.KeysDeleted},
		{"nreturned", d.NReturned},
	} {
		if n.value >= 0 {
			attrs = append(attrs, slog.Int64(n.name, n.value))
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
	return append(attrs, slog.Int64("numYields", d.NumYields))
}

// loggedCommand prints a command for a log line, cut where it is long.
func loggedCommand(req *Request) string {
	if req.Def.Secret {
		return "{ " + req.Name + ": \"xxx\" }"
	}
	if len(req.Body) > maxLoggedCommand {
		return "{ " + req.Name + ": … } (" + bsonx.IndexKey(len(req.Body)) + " bytes)"
	}
	return formatDoc(req.Body)
}
