package command

import (
	"time"

	"github.com/sheafdb/sheaf/internal/retryable"
	"github.com/sheafdb/sheaf/internal/session"
)

// recordsInterval is the time between two searches for the records of ended sessions.
const recordsInterval = 5 * time.Minute

// recordReaper removes the records of retryable writes whose sessions have ended. Only one
// goroutine may use it.
type recordReaper struct {
	last time.Time // when the last search began
}

// reap removes old records if recordsInterval has passed. It is cheap to call often.
func (r *recordReaper) reap(s *Service) {
	now := s.settled.Now()
	if s.Store == nil || now.Sub(r.last) < recordsInterval {
		return
	}
	r.last = now
	if err := r.removeBefore(s, now.Add(-session.Timeout).UnixMilli()); err != nil {
		s.Logger.Warn("Cannot remove what retryable writes left behind", "error", err)
	}
}

// removeBefore removes records older than before, in milliseconds since 1970.
func (r *recordReaper) removeBefore(s *Service, before int64) error {
	old, err := retryable.Old(s.Store.Engine(), before)
	if err != nil {
		return err
	}
	for i := range old {
		if err := r.remove(s, &old[i], before); err != nil {
			return err
		}
	}
	return nil
}

// remove removes a session's records older than before. It keeps the records of a session that is
// alive, because its client may still retry the write.
func (r *recordReaper) remove(s *Service, name *retryable.Session, before int64) error {
	var id session.SessionID
	copy(id.UUID[:], name[:])
	copy(id.User[:], name[len(id.UUID):])
	if s.Sessions.Lookup(id) != nil {
		return nil
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
