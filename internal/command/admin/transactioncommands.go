package admin

import (
	"context"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/retryable"
	"github.com/sheafdb/sheaf/internal/session"
	"github.com/sheafdb/sheaf/internal/storage"
)

// rememberCommit adds a record of the commit to the transaction. With it a client can send the
// commit again, even after a restart of the server.
func rememberCommit(r *command.Request) error {
	name := command.RetrySession(r.Session.ID)
	r.Service.Stats.SessionRecords.Add(1)
	rec := retryable.Record{
		TxnNumber: r.Generic.TxnNumber, Statement: retryable.Whole, Count: 1,
		Kind: retryable.Commit, Time: r.Now.UnixMilli(),
	}
	return r.Work.Remember(rec.AppendKey(nil, &name), rec.AppendValue(nil))
}

const startsWithCommit = "Cannot start a transaction with a commit"

// TransactionCommands returns the definitions of the commands that end transactions.
func TransactionCommands() []command.Definition {
	token := command.Field{Name: "recoveryToken", Type: command.Object}
	return []command.Definition{
		{
			Name: "commitTransaction", Help: "Makes the changes of a transaction visible.",
			Properties: command.Properties{
				Writes: feature.Yes, Transactions: feature.Yes, StableAPI: feature.Yes, Expendable: feature.No,
				Secret: feature.No, AdminOnly: feature.Yes,
			},
			Run:           runCommitTransaction,
			InTransaction: command.TransactionRules{Ends: true, Recommits: true, NotFirst: startsWithCommit},
			Fields:        []command.Field{token, {Name: "commitTimestamp", Type: command.Timestamp, Unstable: true}},
		},
		{
			Name: "abortTransaction", Help: "Undoes a transaction.",
			Properties: command.Properties{
				Writes: feature.Yes, Transactions: feature.Yes, StableAPI: feature.Yes, Expendable: feature.No,
				Secret: feature.No, AdminOnly: feature.Yes,
			},
			Run: runAbortTransaction, Fields: []command.Field{token},
			InTransaction: command.TransactionRules{Ends: true, NotFirst: "Cannot start a transaction with an abort"},
		},
		{
			Name: "coordinateCommitTransaction", Help: "Commits a transaction over several shards; there are none.",
			Properties: command.Properties{
				Writes: feature.Yes, Transactions: feature.Yes, StableAPI: feature.No, Expendable: feature.Yes,
				Secret: feature.No, AdminOnly: feature.Yes,
			},
			Hidden: true, Loose: true, Refuse: refuseCoordinateCommit,
			InTransaction: command.TransactionRules{Ends: true, NotFirst: startsWithCommit},
		},
	}
}

// sessionDoc returns a session id in the format of lsid.
func sessionDoc(id session.SessionID) bsonx.Doc {
	return bsonx.NewDoc("id", bsonx.Binary(bsonx.UUIDSubtype, id.UUID[:]), "uid", bsonx.Binary(0, id.User[:]))
}

func runCommitTransaction(_ context.Context, req *command.Request, _ *bsonx.Builder) error {
	if req.Work == nil {
		return mongoerr.New(mongoerr.CommandFailed, "commitTransaction must be run within a transaction")
	}
	req.Work.CloseCursors()
	if err := rememberCommit(req); err != nil {
		return err
	}
	if err := req.Work.Commit(req.Durability(storage.Durable)); err != nil {
		return err
	}
	req.Op.Stamp = max(req.Op.Stamp, req.Work.Stamp())
	req.Service.Transactions.Committed(req.Work.Open)
	return nil
}

func runAbortTransaction(_ context.Context, req *command.Request, _ *bsonx.Builder) error {
	if req.Work == nil {
		return mongoerr.New(mongoerr.CommandFailed, "abortTransaction must be run within a transaction")
	}
	req.Service.Transactions.Abort(req.Work.Open)
	return nil
}

func refuseCoordinateCommit(*command.Request) error {
	return mongoerr.New(mongoerr.ShardingStateNotInitialized,
		"Cannot accept sharding commands if sharding state has not been initialized with a shardIdentity document")
}

// statusTransactions appends the section transactions of serverStatus.
func statusTransactions(s *command.Service, b *bsonx.Builder) {
	st := s.Transactions.Stats()
	b.Int64("retriedCommandsCount", s.Stats.RetriedCommands.Load())
	b.Int64("retriedStatementsCount", s.Stats.RetriedStatements.Load())
	b.Int64("transactionsCollectionWriteCount", s.Stats.SessionRecords.Load())
	b.Int64("currentActive", int64(st.Active))
	b.Int64("currentInactive", int64(st.Open-st.Active))
	b.Int64("currentOpen", int64(st.Open))
	b.Int64("totalAborted", st.Aborted)
	b.Int64("totalCommitted", st.Committed)
	b.Int64("totalStarted", st.Started)
	for _, name := range [...]string{
		"totalPrepared", "totalPreparedThenCommitted",
		"totalPreparedThenAborted", "currentPrepared",
	} {
		b.Int64(name, 0)
	}
}

// openTransactions returns the open transactions of all sessions, by session id.
func openTransactions(s *command.Service) map[session.SessionID]session.TransactionInfo {
	open := s.Transactions.Open(s.Clock.Now())
	if len(open) == 0 {
		return nil
	}
	out := make(map[session.SessionID]session.TransactionInfo, len(open))
	for _, t := range open {
		out[t.SessionID] = t
	}
	return out
}

// wallFormat is the time format of currentOp.
const wallFormat = "2006-01-02T15:04:05.000-07:00"

// appendTransaction appends the field transaction of currentOp.
func appendTransaction(b *bsonx.Builder, t *session.TransactionInfo) {
	b.StartDocField("transaction")
	b.StartDocField("parameters")
	b.Int64("txnNumber", t.Number)
	b.Bool("autocommit", false)
	if t.ReadConcern != "" {
		b.Doc("readConcern", bsonx.NewDoc("level", t.ReadConcern))
	}
	b.End()
	b.String("startWallClockTime", t.Started.Format(wallFormat))
	b.Int64("timeOpenMicros", t.Open.Microseconds())
	b.Int64("timeActiveMicros", t.ActiveFor.Microseconds())
	b.Int64("timeInactiveMicros", (t.Open - t.ActiveFor).Microseconds())
	b.String("expiryTime", t.Expires.Format(wallFormat))
	b.End()
}

// idleSessionDoc returns the document of currentOp for a session whose open transaction has no
// running operation.
func idleSessionDoc(s *command.Service, t *session.TransactionInfo, now time.Time) bsonx.Doc {
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	b.String("type", "idleSession")
	b.String("host", s.HostAndPort())
	b.String("desc", "inactive transaction")
	b.String("client", t.Client.Remote)
	b.Int64("connectionId", t.Client.ConnectionID)
	if t.Client.AppName != "" {
		b.String("appName", t.Client.AppName)
	}
	if len(t.Client.Metadata) > 0 {
		b.Doc("clientMetadata", t.Client.Metadata)
	}
	b.Doc("lsid", sessionDoc(t.SessionID))
	b.Bool("active", false)
	b.String("currentOpTime", now.Format(wallFormat))
	appendTransaction(b, t)
	b.Bool("waitingForLock", false)
	b.Doc("locks", bsonx.Empty)
	b.Doc("lockStats", bsonx.Empty)
	b.End()
	return b.Bytes()
}
