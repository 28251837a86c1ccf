package command

import (
	"context"
	"time"

	"github.com/sheafdb/sheaf/internal/failpoint"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
	"github.com/sheafdb/sheaf/internal/session"
)

// disabledRules are the rules of the optimiser that a fail point switches off.
func (s *Service) disabledRules() parsing.Rule {
	if s.FailPoints.IsOn(failpoint.DisableOptimization) {
		return parsing.AllRules
	}
	return 0
}

// setHistoryWindow changes for how long a snapshot can be read that is held, and, as someone cares
// for the past, any time of it.
func (s *Service) setHistoryWindow(seconds int64) {
	s.Read.Snapshots.SetWindow(seconds)
	if s.Store != nil {
		s.Store.History().Keep(time.Duration(seconds) * time.Second)
	}
}

// Reap ends what was idle for too long: cursors, sessions and the cursors of those. The server
// calls it regularly.
func (s *Service) Reap() {
	s.Cursors.Reap()
	s.Transactions.Reap(s.Clock.Now())
	s.Read.Snapshots.Reap(s.Clock.Now())
	if ended := s.Sessions.Reap(); len(ended) > 0 {
		s.Sessions.CursorsReaped(s.EndSessions(ended))
	}
	s.reaper.reap(s)
}

// Expire removes what has expired, again and again until ctx ends.
func (s *Service) Expire(ctx context.Context) {
	if s.TTL != nil {
		s.TTL.Guard(s.Gate.pass)
		s.TTL.Run(ctx)
	}
}

// EndSessions ends what belongs to sessions, and returns how many cursors that were.
func (s *Service) EndSessions(ids []session.SessionID) (closed int) {
	set := make(map[session.SessionID]bool, len(ids))
	for _, id := range ids {
		set[id] = true
	}
	match := func(id session.SessionID) bool { return set[id] }
	closed = s.Cursors.KillSession(match)
	s.Transactions.KillSession(match)
	s.Read.Snapshots.EndSessions(match)
	return closed
}

// Close ends what reads from the store, before that is closed. No command runs any more.
func (s *Service) Close() {
	s.Cursors.Close()
	s.Transactions.Close()
	s.Read.Snapshots.Close()
}

// Stop tells the service that the server stops: commands that wait for news end at once, the others
// finish.
func (s *Service) Stop() {
	s.Topology.stop()
	s.Ops.Each((*session.Op).InterruptAwait)
}

// Interrupt ends all running commands with InterruptedAtShutdown.
func (s *Service) Interrupt(context.Context) { s.Ops.Each((*session.Op).Shutdown) }

// setSlowMillis changes from when on operations are logged; a negative number logs none.
func (s *Service) setSlowMillis(ms int64) { s.Slow.Store(ms) }

// Quiet reports whether connections are not logged: the parameter quiet.
func (s *Service) Quiet() bool { return s.Switches.quiet.Load() }
