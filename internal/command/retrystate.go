package command

import (
	"github.com/sheafdb/sheaf/internal/retryable"
	"github.com/sheafdb/sheaf/internal/session"
	"github.com/sheafdb/sheaf/internal/write"
)

// retryState is the state of a retryable write. It tells which statements an earlier attempt has
// already executed.
type retryState struct {
	Write write.Retry
	// History holds the records of an earlier attempt of the same command.
	History retryable.History
	// Retried are the ids of the statements that were not run again.
	Retried []int32
}

func (r *retryState) forget() {
	r.Write.Reset()
	r.History, r.Retried = retryable.History{}, nil
}

// Retries returns the state that makes the request's statements retryable, or nil if the write is
// not retryable.
func (r *Request) Retries() *write.Retry {
	if r.Retry == nil {
		return nil
	}
	return &r.Retry.Write
}

// RetrySession returns the key under which the records of a session are stored.
func RetrySession(id session.SessionID) (out retryable.Session) {
	copy(out[:], id.UUID[:])
	copy(out[len(id.UUID):], id.User[:])
	return out
}
