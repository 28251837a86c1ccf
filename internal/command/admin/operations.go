package admin

import (
	"context"
	"math"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/session"
)

// OperationCommands returns currentOp and killOp.
func OperationCommands() []command.Definition {
	return []command.Definition{
		{
			Name: "currentOp", Help: "Lists running operations.", AdminOnly: true, Loose: true, Run: runCurrentOp,
			Properties: command.Properties{Writes: feature.No, Transactions: feature.No, StableAPI: feature.No},
		},
		{
			Name: "killOp", Loose: true, Help: "Ends an operation.", AdminOnly: true,
			Properties: command.Properties{Writes: feature.No, Transactions: feature.No, StableAPI: feature.No},
			Fields:     []command.Field{{Name: "op", Type: command.SafeInt, Required: true}}, Run: runKillOp,
		},
	}
}

// opFilter tells whether an operation's document is wanted.
type opFilter func(doc bsonx.Doc) (bool, error)

func runCurrentOp(_ context.Context, req *command.Request, reply *bsonx.Builder) error {
	s := req.Service
	match, err := currentOpFilter(s, req)
	if err != nil {
		return err
	}
	reply.StartArrayField("inprog")
	for doc := range operationDocs(s, req.Body.Lookup("$all").Truthy(), true) {
		ok, err := match(doc)
		if err != nil {
			return err
		}
		if ok {
			reply.Elem(bsonx.Document(doc))
		}
	}
	reply.End()
	if s.Gate.Locked() {
		reply.Bool("fsyncLock", true)
		reply.String("info", "use db.fsyncUnlock() to terminate the fsync write/snapshot lock")
	}
	return nil
}

// currentOpFilter compiles the fields that are neither generic nor currentOp's own as a query over the operations.
func currentOpFilter(s *command.Service, req *command.Request) (opFilter, error) {
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	for _, a := range req.Args() {
		switch string(a.Key) {
		case "$all", "$ownOps", "$truncateOps":
		default:
			b.ValueBytes(a.Key, a.Value)
		}
	}
	b.End()
	query := bsonx.Doc(b.Bytes())
	if query.IsEmpty() {
		return func(bsonx.Doc) (bool, error) { return true, nil }, nil
	}
	f, err := filter.Parse(query, filter.Options{AllowExpr: true, Now: req.Now, Vars: req.BaseVars()})
	if err != nil {
		return nil, err
	}
	return f.Match, nil
}

// operationDocs yields the documents of currentOp; with connections those of connections without an operation too, with sessions
// those of sessions with a transaction that no operation works on.
func operationDocs(s *command.Service, connections, sessions bool) func(yield func(bsonx.Doc) bool) {
	return func(yield func(bsonx.Doc) bool) {
		transactions := openTransactions(s)
		for _, op := range s.Ops.Snapshots(connections) {
			t, ok := transactions[op.SessionID]
			if !ok || !t.Active || !op.Active {
				if !yield(operationDoc(s, &op, nil)) {
					return
				}
				continue
			}
			if !yield(operationDoc(s, &op, &t)) {
				return
			}
		}
		now := s.Clock.Now()
		for _, t := range transactions {
			if sessions && !t.Active && !yield(idleSessionDoc(s, &t, now)) {
				return
			}
		}
	}
}

// idleCursorDocs are the documents of $currentOp for cursors that wait for their next getMore.
func idleCursorDocs(s *command.Service) []bsonx.Doc {
	var out []bsonx.Doc
	for _, c := range s.Cursors.Idle() {
		b := bsonx.NewBuilder(nil)
		b.StartDoc()
		b.String("type", "idleCursor")
		b.String("host", s.HostAndPort())
		b.String("ns", c.Namespace)
		if !c.Owner.Session.IsZero() {
			b.Doc("lsid", sessionDoc(c.Owner.Session))
		}
		if c.Plan != nil {
			b.String("planSummary", c.Plan.Summary())
		}
		b.StartDocField("cursor")
		b.Int64("cursorId", c.ID)
		b.Date("createdDate", c.Created.UnixMilli())
		b.Date("lastAccessDate", c.LastUse.UnixMilli())
		b.Int64("nDocsReturned", c.Returned)
		b.Int64("nBatchesReturned", c.Batches)
		b.Bool("noCursorTimeout", c.NoTimeout)
		b.Bool("tailable", c.Tailable)
		b.Bool("awaitData", c.AwaitData)
		if len(c.Command) > 0 {
			b.Doc("originatingCommand", shownCommand(c.Command))
		}
		b.End()
		b.End()
		out = append(out, b.Bytes())
	}
	return out
}

// operationDoc returns the document of an operation, and of the transaction that it works on, nil for none.
func operationDoc(s *command.Service, op *session.Snapshot, t *session.TransactionInfo) bsonx.Doc {
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	b.String("type", "op")
	b.String("host", s.HostAndPort())
	b.String("desc", command.ConnName(op.Client.ConnectionID))
	b.Int64("connectionId", op.Client.ConnectionID)
	b.String("client", op.Client.Remote)
	if op.Client.AppName != "" {
		b.String("appName", op.Client.AppName)
	}
	if len(op.Client.Metadata) > 0 {
		b.Doc("clientMetadata", op.Client.Metadata)
	}
	b.Bool("isFromUserConnection", true)
	b.Bool("active", op.Active)
	b.String("currentOpTime", s.Clock.Now().Format(wallFormat))
	if op.Active {
		appendActive(s, b, op)
	}
	if t != nil {
		appendTransaction(b, t)
	}
	b.End()
	return bsonx.Doc(b.Bytes())
}

func appendActive(s *command.Service, b *bsonx.Builder, op *session.Snapshot) {
	if !op.SessionID.IsZero() {
		b.Doc("lsid", sessionDoc(op.SessionID))
	}
	running := s.Clock.Now().Sub(op.Started)
	b.Bool("threaded", true)
	b.Int64("opid", op.ID)
	if op.Killed {
		b.Bool("killPending", true)
	}
	b.Int64("secs_running", int64(running.Seconds()))
	b.Int64("microsecs_running", running.Microseconds())
	b.String("op", op.Kind)
	b.String("ns", op.Namespace())
	if len(op.Command) > 0 {
		b.Doc("command", shownCommand(op.Command))
	} else {
		b.Doc("command", bsonx.Empty)
	}
	if op.Plan != nil {
		b.String("planSummary", op.Plan.Summary())
	}
	if len(op.Origin) > 0 {
		b.StartDocField("cursor")
		b.Doc("originatingCommand", shownCommand(op.Origin))
		b.End()
	}
	b.Bool("waitingForLock", op.Waiting)
}

// maxShownCommand is the largest command that the document of an operation has whole. Such a document
// has up to two of them.
const maxShownCommand = 7 << 20

// shownCommand returns how the document of an operation shows a command: of a very large one only the
// first fields, as text, and the comment, by which clients find their operations.
func shownCommand(cmd bsonx.Doc) bsonx.Doc {
	if len(cmd) <= maxShownCommand {
		return cmd
	}
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	for it := cmd.Iter(); it.Next() && b.Len()+len(it.Value().Data) <= maxTruncated; {
		b.ValueBytes(it.Key(), it.Value())
	}
	b.End()
	shown := bsonx.NewDoc("$truncated", bsonx.FormatShell(bsonx.Document(b.Bytes())))
	if comment := cmd.Lookup("comment"); len(comment.Data) > 0 && len(comment.Data) <= maxTruncated {
		shown = shown.With("comment", comment)
	}
	return shown
}

// maxTruncated bounds the fields that are shown of a command that is not shown whole.
const maxTruncated = 1000

const codeOpID = mongoerr.Code(26823)

func runKillOp(_ context.Context, req *command.Request, reply *bsonx.Builder) error {
	v := req.Get("op")
	id := bsonx.SaturatingInt64(v)
	if whole, ok := v.AsFloat64(); !ok || whole != math.Trunc(whole) || math.Abs(whole) > math.MaxInt64 {
		return mongoerr.New(mongoerr.BadValue, "Expected field \"op\" to have a value exactly representable as a 64-bit integer, but found op: %s",
			bsonx.FormatShell(v))
	}
	if id < math.MinInt32 || id > math.MaxUint32 {
		return mongoerr.New(codeOpID, "invalid op : %d. Op ID cannot be represented with 32 bits", id)
	}
	req.Service.Ops.Kill(id)
	reply.String("info", "attempting to kill op")
	return nil
}
