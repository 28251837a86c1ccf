package retryable

import (
	"errors"

	"github.com/sheafdb/sheaf/internal/keyspace"
	"github.com/sheafdb/sheaf/internal/storage"
)

// SessionHistory is the history of a session's newest transaction number.
type SessionHistory struct {
	Session Session
	History
}

// Page returns the histories of at most n sessions, sorted by session, and the session after which
// the next page begins. Pass nil for the first page. A nil result means that there are no more
// pages.
func Page(engine storage.Engine, after *Session, n int) ([]SessionHistory, *Session, error) {
	var out []SessionHistory
	from := []byte{keyspace.Retryable}
	if after != nil {
		from = append(from, after[:]...)
	}
	err := scanFrom(engine, from, func(key []byte, r *Record) error {
		s := Session(key[1:prefixSize])
		if after != nil && s == *after {
			return nil
		}
		if len(out) == 0 || out[len(out)-1].Session != s {
			if len(out) == n {
				return errEnough
			}
			out = append(out, SessionHistory{Session: s, History: History{TxnNumber: -1}})
		}
		out[len(out)-1].add(r)
		return nil
	})
	if errors.Is(err, errEnough) {
		return out, &out[len(out)-1].Session, nil
	}
	return out, nil, err
}

var errEnough = errors.New("the page is full")

// Usage returns the space of all records.
func Usage(engine storage.Engine) (storage.Usage, error) {
	return engine.DiskUsage([]byte{keyspace.Retryable}, []byte{keyspace.Retryable + 1})
}
