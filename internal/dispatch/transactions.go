package dispatch

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/oplog"
	"github.com/sheafdb/sheaf/internal/read"
	"github.com/sheafdb/sheaf/internal/session"
	"github.com/sheafdb/sheaf/internal/table"
)

// runNumbered runs a command with a transaction number: a statement of a transaction, the end of a
// transaction, or a retryable write.
func runNumbered(s *command.Service, e *command.Entry, req *command.Request, reply *bsonx.Builder) error {
	if err := checkOut(s, req); err != nil {
		return err
	}
	defer req.Session.CheckIn(s.Transactions)
	if !req.Generic.InTransaction() {
		return runRetryable(s, e, req, reply)
	}
	t, err := transaction(s, req)
	if err != nil || t == nil { // t is nil if the transaction is already committed
		return err
	}
	t.SetActive(true, req.Conn.Op.Client, req.Now)
	defer func() { t.SetActive(false, req.Conn.Op.Client, s.Clock.Now()) }()
	req.Work = t.Work.(*command.Work)
	return runStatement(s, e, req, reply)
}

// runStatement runs a command in its transaction. Any error, and a panic too, aborts the
// transaction.
func runStatement(s *command.Service, e *command.Entry, req *command.Request, reply *bsonx.Builder) error {
	t, done := req.Work.Open, false
	defer func() {
		if !done {
			s.Transactions.Abort(t)
		}
	}()
	err := run(req.Op, e, req, reply)
	done = err == nil && !req.Failed
	return err
}

// transaction begins the transaction that a request starts, or returns the transaction that it
// continues. It returns nil for a commit of a transaction that is already committed. The session
// must be checked out.
func transaction(s *command.Service, req *command.Request) (*session.Transaction, error) {
	g := &req.Generic
	if g.StartTxn != command.BoolTrue {
		t, err := req.Session.ContinueTransaction(g.TxnNumber, req.Def.InTransaction.Recommits)
		if err != nil || t == nil {
			return nil, err
		}
		return t, command.CheckSameAPI(req, t.API, "transaction's first command")
	}
	t, err := req.Session.BeginTransaction(s.Transactions, g.TxnNumber, g.ReadConcern.Level, req.Now)
	if err != nil {
		return nil, err
	}
	txn, err := beginTxn(s, req, t)
	if err != nil {
		s.Transactions.Abort(t)
		return nil, err
	}
	t.Work, t.API = &command.Work{Transaction: txn, Service: s, Open: t}, g.API()
	return t, nil
}

// beginTxn begins the storage transaction. With atClusterTime it reads an earlier state and cannot
// write.
func beginTxn(s *command.Service, req *command.Request, t *session.Transaction) (table.Transaction, error) {
	if at := req.Generic.ReadConcern.AtClusterTime; at != 0 {
		past, err := s.Store.BeginPast(req.Op, at, read.MaxPast)
		if err != nil {
			return nil, read.PastError(err, at) // do not return past: as an interface, a nil pointer is not nil
		}
		return past, nil
	}
	return s.Store.BeginTxn(table.TxnOptions{
		Limit: int(s.TransactionSize.Load()),
		By:    &oplog.Writer{Session: t.Session.Doc(), TxnNumber: t.Number, StmtID: -1},
	}), nil
}
