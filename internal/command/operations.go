package command

import (
	"context"
	"strconv"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/session"
)

// operationCommands returns currentOp and killOp.
func operationCommands() []Definition {
	return []Definition{
		{Name: "currentOp", Help: "Lists running operations.", AdminOnly: true, Loose: true, Run: runCurrentOp},
		{
			Name: "killOp", Help: "Ends an operation.", AdminOnly: true,
			Fields: []Field{{Name: "op", Type: SafeInt, Required: true}}, Run: runKillOp,
		},
	}
}

// OpFilter tells whether an operation's document is wanted.
type OpFilter func(doc bsonx.Doc) (bool, error)

func runCurrentOp(_ context.Context, req *Request, reply *bsonx.Builder) error {
	s := req.Service
	match, err := s.currentOpFilter(req)
	if err != nil {
		return err
	}
	reply.StartArrayField("inprog")
	for doc := range s.OperationDocs(req.Body.Lookup("$all").Truthy()) {
		ok, err := match(doc)
		if err != nil {
			return err
		}
		if ok {
			reply.Elem(bsonx.Document(doc))
		}
	}
	reply.End()
	if s.writes.locked() {
		reply.Bool("fsyncLock", true)
		reply.String("info", "use db.fsyncUnlock() to terminate the fsync write/snapshot lock")
	}
	return nil
}

// currentOpFilter compiles the fields that are neither generic nor currentOp's own as a query over the operations.
func (s *Service) currentOpFilter(req *Request) (OpFilter, error) {
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
	f, err := filter.Parse(query, filter.Options{AllowExpr: true, Now: req.Now})
	if err != nil {
		return nil, err
	}
	return f.Match, nil
}

// OperationDocs yields the documents of currentOp; with idle, those of connections without an operation too.
func (s *Service) OperationDocs(idle bool) func(yield func(bsonx.Doc) bool) {
	return func(yield func(bsonx.Doc) bool) {
		transactions := s.openTransactions()
		for _, op := range s.Ops.Snapshots(idle) {
			t, ok := transactions[op.SessionID]
			if !ok || !t.Active || !op.Active {
				if !yield(s.operationDoc(&op, nil)) {
					return
				}
				continue
			}
			if !yield(s.operationDoc(&op, &t)) {
				return
			}
		}
		now := s.Clock.Now()
		for _, t := range transactions {
			if !t.Active && !yield(s.idleSessionDoc(&t, now)) {
				return
			}
		}
	}
}

// operationDoc returns the document of an operation, and of the transaction that it works on, nil for none.
func (s *Service) operationDoc(op *session.Snapshot, t *session.TransactionInfo) bsonx.Doc {
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	b.String("type", "op")
	b.String("host", s.hostname)
	b.String("desc", connName(op.Client.ConnectionID))
	b.Int64("connectionId", op.Client.ConnectionID)
	b.String("client", op.Client.Remote)
	if op.Client.AppName != "" {
		b.String("appName", op.Client.AppName)
	}
	if len(op.Client.Metadata) > 0 {
		b.Doc("clientMetadata", op.Client.Metadata)
	}
	b.Bool("active", op.Active)
	b.String("currentOpTime", s.Clock.Now().Format(wallFormat))
	if op.Active {
		s.appendActive(b, op)
	}
	if t != nil {
		appendTransaction(b, t)
	}
	b.End()
	return bsonx.Doc(b.Bytes())
}

func (s *Service) appendActive(b *bsonx.Builder, op *session.Snapshot) {
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
		b.Doc("command", op.Command)
	} else {
		b.Doc("command", bsonx.Empty)
	}
	if op.Plan != nil {
		b.String("planSummary", op.Plan.Summary())
	}
	if len(op.Origin) > 0 {
		b.StartDocField("cursor")
		b.Doc("originatingCommand", op.Origin)
		b.End()
	}
	b.Int32("numYields", 0)
	b.Doc("locks", bsonx.Empty)
	b.Bool("waitingForLock", op.Waiting)
	b.Doc("lockStats", bsonx.Empty)
	b.Bool("waitingForFlowControl", false)
	b.Doc("flowControlStats", bsonx.Empty)
}

// connName names a connection in logs as mongod does.
func connName(id int64) string { return "conn" + strconv.FormatInt(id, 10) }

func runKillOp(_ context.Context, req *Request, reply *bsonx.Builder) error {
	req.Service.Ops.Kill(req.Int64("op", 0))
	reply.String("info", "attempting to kill op")
	return nil
}
