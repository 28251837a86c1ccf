package command

import (
	"time"

	"github.com/sheafdb/sheaf/internal/retryable"
	"github.com/sheafdb/sheaf/internal/session"
)

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
