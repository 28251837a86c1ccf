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

// OperationCommands returns the definitions of currentOp and killOp.
func OperationCommands() []command.Definition {
	return []command.Definition{
		{
			Name: "currentOp", Help: "Lists running operations.", Loose: true, Run: runCurrentOp,
			Properties: command.Properties{
				Writes: feature.No, Transactions: feature.No, StableAPI: feature.No, Expendable: feature.No,
				Secret: feature.No, AdminOnly: feature.Yes,
			},
		},
		{
			Name: "killOp", Loose: true, Help: "Ends an operation.",
			Properties: command.Properties{
				Writes: feature.No, Transactions: feature.No, StableAPI: feature.No, Expendable: feature.No,
				Secret: feature.No, AdminOnly: feature.Yes,
			},
			Fields: []command.Field{{Name: "op", Type: command.SafeInt, Required: true}}, Run: runKillOp,
		},
	}
}

// opFilter reports whether currentOp shows the document of an operation.
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

// currentOpFilter compiles a filter for operations from the arguments of currentOp. The filter
// consists of all arguments except the generic ones and currentOp's own.
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

// operationDocs yields the documents of currentOp. With connections it includes connections without
// a running operation. With sessions it includes sessions whose open transaction has no running
// operation.
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

// idleCursorDocs returns the documents of $currentOp for cursors between two getMores.
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

// operationDoc returns the document of an operation. t is the transaction that it belongs to, or
// nil.
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

// maxShownCommand is the size in bytes up to which the document of an operation shows a whole
// command. It is less than half of a document, because the document can show two commands.
const maxShownCommand = 7 << 20

// shownCommand returns a command as the document of an operation shows it. A very large command is
// shortened to its first fields, as text, and its comment, which clients use to find their
// operations.
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

// maxTruncated limits the bytes that are shown of a shortened command, and of its comment.
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
