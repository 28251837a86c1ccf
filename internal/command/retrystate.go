package command

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/read"
	"github.com/sheafdb/sheaf/internal/retryable"
	"github.com/sheafdb/sheaf/internal/session"
	"github.com/sheafdb/sheaf/internal/write"
)

// retryState is what a retryable write works with.
type retryState struct {
	Write write.Retry
	// history is what the command did when it was sent before.
	History retryable.History
	// retried are the statements that were not run again.
	Retried []int32
}

func (r *retryState) forget() {
	r.Write.Reset()
	r.History, r.Retried = retryable.History{}, nil
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
	if r.Retry == nil || len(r.Retry.History.Records) == 0 {
		return nil
	}
	id := r.Retry.Write.Statement(i)
	rec := r.Retry.History.Find(id)
	if rec != nil {
		r.Retry.Retried = append(r.Retry.Retried, id)
	}
	return rec
}

// AppendRetried appends which statements were not run again.
func (r *Request) AppendRetried(reply *bsonx.Builder) {
	if r.Retry == nil || len(r.Retry.Retried) == 0 {
		return
	}
	reply.StartArrayField("retriedStmtIds")
	for _, id := range r.Retry.Retried {
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

// RetrySession names a session in its records.
func RetrySession(id session.SessionID) (out retryable.Session) {
	copy(out[:], id.UUID[:])
	copy(out[len(id.UUID):], id.User[:])
	return out
}
