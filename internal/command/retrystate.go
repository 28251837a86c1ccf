package command

import (
	"github.com/sheafdb/sheaf/internal/retryable"
	"github.com/sheafdb/sheaf/internal/session"
	"github.com/sheafdb/sheaf/internal/write"
)

// retryState is what a retryable write works with.
type retryState struct {
	Write write.Retry
	// History is what the command did when it was sent before.
	History retryable.History
	// Retried are the statements that were not run again.
	Retried []int32
}

func (r *retryState) forget() {
	r.Write.Reset()
	r.History, r.Retried = retryable.History{}, nil
}

// Retries returns what makes the request's statements retryable, nil where they are not.
func (r *Request) Retries() *write.Retry {
	if r.Retry == nil {
		return nil
	}
	return &r.Retry.Write
}

// RetrySession names a session in its records.
func RetrySession(id session.SessionID) (out retryable.Session) {
	copy(out[:], id.UUID[:])
	copy(out[len(id.UUID):], id.User[:])
	return out
}
