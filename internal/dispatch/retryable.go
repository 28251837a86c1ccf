package dispatch

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/retryable"
)

// Retryable writes: a command with a transaction number, outside of a transaction, that is sent
// again answers what its statements did, and runs those that were not executed.

// checkOut takes the transaction numbers of the request's session, and finds out what the session
// did before the server was started. CheckIn must follow where there is no error.
func checkOut(s *command.Service, req *command.Request) error {
	for {
		if err := req.Session.CheckOut(req.Op); err != nil {
			return err
		}
		if req.Session.Touch(req.Now) {
			break
		}
		// It has ended meanwhile. Who comes next gets another one, and so must this one.
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

// runRetryable runs a retryable write, whose session is checked out.
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
