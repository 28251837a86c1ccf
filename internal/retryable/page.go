package retryable

import (
	"errors"

	"github.com/sheafdb/sheaf/internal/keyspace"
	"github.com/sheafdb/sheaf/internal/storage"
)

// SessionHistory is what the newest transaction number of a session did.
type SessionHistory struct {
	Session Session
	History
}

// Page returns the histories of the next sessions in the order of their names, at most n, and the
// name after which the following page begins. The first page begins after nil; there are no more
// where it returns nil.
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

// Usage measures the space of all records.
func Usage(engine storage.Engine) (storage.Usage, error) {
	return engine.DiskUsage([]byte{keyspace.Retryable}, []byte{keyspace.Retryable + 1})
}
