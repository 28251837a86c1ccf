package command

import (
	"context"
	"time"

	"github.com/sheafdb/sheaf/internal/failpoint"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
	"github.com/sheafdb/sheaf/internal/session"
)

// disabledRules returns the optimiser rules that a fail point has turned off: all or none.
func (s *Service) disabledRules() parsing.Rule {
	if s.FailPoints.IsOn(failpoint.DisableOptimization) {
		return parsing.AllRules
	}
	return 0
}

// setHistoryWindow sets for how many seconds old states of the data stay readable: for open
// snapshots and for reads at an earlier cluster time.
func (s *Service) setHistoryWindow(seconds int64) {
	s.Read.Snapshots.SetWindow(seconds)
	if s.Store != nil {
		s.Store.History().Keep(time.Duration(seconds) * time.Second)
	}
}

// Reap ends cursors and sessions that were idle for too long, and transactions and snapshots that
// are too old. The server calls it regularly.
func (s *Service) Reap() {
	s.Cursors.Reap()
	s.Transactions.Reap(s.Clock.Now())
	s.Read.Snapshots.Reap(s.Clock.Now())
	if ended := s.Sessions.Reap(); len(ended) > 0 {
		s.Sessions.CursorsReaped(s.EndSessions(ended))
	}
	s.reaper.reap(s)
}

// Expire runs the TTL monitor, which deletes expired documents, until ctx ends.
func (s *Service) Expire(ctx context.Context) {
	if s.TTL != nil {
		s.TTL.Guard(s.Gate.pass)
		s.TTL.Run(ctx)
	}
}

// EndSessions closes the cursors, transactions and snapshots of sessions, and returns the number of
// closed cursors.
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

// Close closes everything that reads from the store. Call it before the store is closed and after
// the last command has ended.
func (s *Service) Close() {
	s.Cursors.Close()
	s.Transactions.Close()
	s.Read.Snapshots.Close()
}

// Stop tells the service that the server stops. It ends the commands that wait for events. All
// other commands may finish.
func (s *Service) Stop() {
	s.Topology.stop()
	s.Ops.Each((*session.Op).InterruptAwait)
}

// Interrupt ends all running commands with InterruptedAtShutdown.
func (s *Service) Interrupt(context.Context) { s.Ops.Each((*session.Op).Shutdown) }

// setSlowMillis sets the duration in milliseconds from which operations are logged as slow. A
// negative number turns the log off.
func (s *Service) setSlowMillis(ms int64) { s.Slow.Store(ms) }

// Quiet reports the value of the parameter quiet: if it is true, connections are not logged.
func (s *Service) Quiet() bool { return s.Switches.quiet.Load() }
