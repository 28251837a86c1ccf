package command

import (
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/read"
	"github.com/sheafdb/sheaf/internal/retryable"
	"github.com/sheafdb/sheaf/internal/session"
	"github.com/sheafdb/sheaf/internal/write"
)

// Retryable writes: a command with a transaction number, outside of a transaction, that is sent again answers what its statements
// did, and runs those that were not executed.

// retryState is what a retryable write works with.
type retryState struct {
	Write write.Retry
	// history is what the command did when it was sent before.
	history retryable.History
	// retried are the statements that were not run again.
	retried []int32
}

func (r *retryState) forget() {
	r.Write.Reset()
	r.history, r.retried = retryable.History{}, nil
}

// checkOut takes the transaction numbers of the request's session, and finds out what the session did before the server was
// started. CheckIn must follow where there is no error.
func (s *Service) checkOut(req *Request) error {
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
		req.Conn.lastSession = req.Session
	}
	if req.Session.IsRestored() {
		return nil
	}
	name := retrySession(req.Session.ID)
	h, err := retryable.Load(s.Store.Engine(), &name)
	if err != nil {
		req.Session.CheckIn(s.Transactions)
		return err
	}
	req.Session.Restore(h.TxnNumber, h.Committed())
	return nil
}

// retrySession names a session in its records.
func retrySession(id session.SessionID) (out retryable.Session) {
	copy(out[:], id.UUID[:])
	copy(out[len(id.UUID):], id.User[:])
	return out
}

// runRetryable runs a retryable write, whose session is checked out.
func (s *Service) runRetryable(e *entry, req *Request, reply *bsonx.Builder) error {
	known, err := req.Session.BeginRetryable(s.Transactions, req.Generic.TxnNumber)
	if err != nil {
		return err
	}
	state := &req.Memory.retry
	w := &state.Write
	w.Session, w.Now = retrySession(req.Session.ID), req.Now.UnixMilli()
	w.By.Session, w.By.TxnNumber = req.Session.Doc(), req.Generic.TxnNumber
	if s.FailPoints.active.Load() != 0 {
		w.Before = func() error { return s.FailPoints.write(req) }
	}
	if known {
		h, err := retryable.Load(s.Store.Engine(), &w.Session)
		if err != nil {
			return err
		}
		if h.TxnNumber == req.Generic.TxnNumber {
			state.history = h
		}
	}
	req.Retry = state
	if err := e.run(req.Op, req, reply); err != nil {
		return err
	}
	s.Stats.sessionRecords.Add(w.Records)
	if n := len(state.retried); n > 0 {
		s.Stats.retriedCommands.Add(1)
		s.Stats.retriedStatements.Add(int64(n))
	}
	return nil
}

// retries returns what makes the request's statements retryable, nil where they are not.
func (r *Request) retries() *write.Retry {
	if r.Retry == nil {
		return nil
	}
	return &r.Retry.Write
}

// ReadStatements reads the numbers of the request's n statements.
func (r *Request) ReadStatements(n int) error {
	id, ids := r.Get("stmtId"), r.Get("stmtIds")
	if id.IsMissing() && ids.IsMissing() {
		return nil
	}
	var numbers []int32
	if !ids.IsMissing() {
		for i, v := range read.Elements(ids) {
			if v.Type != bsonx.TypeInt32 {
				return WrongType(r.Def.Name+".stmtIds."+bsonx.IndexKey(i), v.Type, Int)
			}
			numbers = append(numbers, v.Int32())
		}
		if len(numbers) != n {
			return mongoerr.New(mongoerr.InvalidLength, "Number of statement ids must match the number of batch entries. "+
				"Got %d statement ids but %d operations. Statement ids: %s. Write command: %s",
				len(numbers), n, bsonx.FormatShell(bsonx.Document(bsonx.NewDoc("stmtIds", ids))), bsonx.FormatShell(bsonx.Document(r.Body)))
		}
		if !id.IsMissing() {
			return mongoerr.New(mongoerr.InvalidOptions, "May not specify both stmtId and stmtIds in write command. Got %s. Write command: %s",
				bsonx.FormatShell(bsonx.Document(bsonx.NewDoc("stmtId", id, "stmtIds", ids))), bsonx.FormatShell(bsonx.Document(r.Body)))
		}
	}
	if r.Retry == nil {
		return nil
	}
	r.Retry.Write.IDs = numbers
	if !id.IsMissing() {
		r.Retry.Write.First = id.Int32()
	}
	return nil
}

// Executed returns what the statement at a position did when the command was sent before, or
// nil if it must run now.
func (r *Request) Executed(i int) *retryable.Record {
	if r.Retry == nil || len(r.Retry.history.Records) == 0 {
		return nil
	}
	id := r.Retry.Write.Statement(i)
	rec := r.Retry.history.Find(id)
	if rec != nil {
		r.Retry.retried = append(r.Retry.retried, id)
	}
	return rec
}

// AppendRetried appends which statements were not run again.
func (r *Request) AppendRetried(reply *bsonx.Builder) {
	if r.Retry == nil || len(r.Retry.retried) == 0 {
		return
	}
	reply.StartArrayField("retriedStmtIds")
	for _, id := range r.Retry.retried {
		reply.Elem(bsonx.Int32(id))
	}
	reply.End()
}

// CheckRetryOfMany refuses a retryable statement about many documents.
func (r *Request) CheckRetryOfMany(multi bool) error {
	if r.Retry == nil || !multi {
		return nil
	}
	return mongoerr.New(mongoerr.InvalidOptions, "Cannot use (or request) retryable writes with multi=true")
}

// rememberCommit puts the record by which the commit of a transaction can be sent again after the server was started anew.
func (r *Request) rememberCommit() error {
	name := retrySession(r.Session.ID)
	r.Service.Stats.sessionRecords.Add(1)
	rec := retryable.Record{
		TxnNumber: r.Generic.TxnNumber, Statement: retryable.Whole, Count: 1, Kind: retryable.Commit, Time: r.Now.UnixMilli(),
	}
	return r.Work.Remember(rec.AppendKey(nil, &name), rec.AppendValue(nil))
}

// recordsInterval is how often the records of sessions that are gone are looked for.
const recordsInterval = 5 * time.Minute

// reapRecords removes the records of sessions that are gone. It is called often, by one goroutine.
func (s *Service) reapRecords() {
	now := s.settled.Now()
	if s.Store == nil || now.Sub(s.recordsReaped) < recordsInterval {
		return
	}
	s.recordsReaped = now
	if err := s.reapRecordsBefore(now.Add(-session.Timeout).UnixMilli()); err != nil {
		s.Logger.Warn("Cannot remove what retryable writes left behind", "error", err)
	}
}

func (s *Service) reapRecordsBefore(before int64) error {
	old, err := retryable.Old(s.Store.Engine(), before)
	if err != nil {
		return err
	}
	for i := range old {
		if err := s.reapSession(&old[i], before); err != nil {
			return err
		}
	}
	return nil
}

func (s *Service) reapSession(name *retryable.Session, before int64) error {
	var id session.SessionID
	copy(id.UUID[:], name[:])
	copy(id.User[:], name[len(id.UUID):])
	if s.Sessions.Lookup(id) != nil {
		return nil // it lives, and may send again what it sent before
	}
	ses, err := s.Sessions.Use(id, s.Clock.Now())
	if err != nil {
		return err
	}
	defer s.Sessions.End(id)
	if !ses.TryCheckOut() {
		return nil
	}
	defer ses.CheckIn(s.Transactions)
	defer ses.Forget()
	return retryable.Remove(s.Store.Engine(), name, before)
}
