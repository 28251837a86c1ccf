package dispatch

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/retryable"
)

// A retryable write is a command with a transaction number outside of a transaction. If a client
// sends it again, statements that were executed before are answered from their records, and only
// the other statements run.

// checkOut takes the transaction numbers of the request's session, so that no other command uses
// them meanwhile. At the first use after a start it restores the session's state from the stored
// records. The caller must call CheckIn, unless checkOut returns an error.
func checkOut(s *command.Service, req *command.Request) error {
	for {
		if err := req.Session.CheckOut(req.Op); err != nil {
			return err
		}
		if req.Session.Touch(req.Now) {
			break
		}
		// The session has ended meanwhile. Later requests get a new session with this id, and so
		// must this request.
		req.Session.CheckIn(s.Transactions)
		var err error
		if req.Session, err = s.Sessions.Use(req.Generic.SessionID, req.Now); err != nil {
			return err
		}
		req.Conn.LastSession = req.Session
	}
	if req.Session.IsRestored() {
		return nil
	}
	name := command.RetrySession(req.Session.ID)
	h, err := retryable.Load(s.Store.Engine(), &name)
	if err != nil {
		req.Session.CheckIn(s.Transactions)
		return err
	}
	req.Session.Restore(h.TxnNumber, h.Committed())
	return nil
}

// runRetryable runs a retryable write. The session must be checked out.
func runRetryable(s *command.Service, e *command.Entry, req *command.Request, reply *bsonx.Builder) error {
	known, err := req.Session.BeginRetryable(s.Transactions, req.Generic.TxnNumber)
	if err != nil {
		return err
	}
	state := &req.Memory.Retry
	w := &state.Write
	w.Session, w.Now = command.RetrySession(req.Session.ID), req.Now.UnixMilli()
	w.By.Session, w.By.TxnNumber = req.Session.Doc(), req.Generic.TxnNumber
	if s.FailPoints.Active() {
		w.Before = func() error { return failWrite(req) }
	}
	if known {
		h, err := retryable.Load(s.Store.Engine(), &w.Session)
		if err != nil {
			return err
		}
		if h.TxnNumber == req.Generic.TxnNumber {
			state.History = h
		}
	}
	req.Retry = state
	if err := run(req.Op, e, req, reply); err != nil {
		return err
	}
	s.Stats.SessionRecords.Add(w.Records)
	if n := len(state.Retried); n > 0 {
		s.Stats.RetriedCommands.Add(1)
		s.Stats.RetriedStatements.Add(int64(n))
	}
	return nil
}
