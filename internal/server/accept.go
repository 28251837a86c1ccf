package server

import (
	"log/slog"
	"net"
	"time"

	"github.com/sheafdb/sheaf/internal/clock"
)

// The pause after a failed accept, for lack of descriptors or memory, doubles between these limits.
const (
	acceptRetry    = 50 * time.Millisecond
	maxAcceptRetry = time.Second
	// acceptLogPause is the shortest interval between log messages about failed accepts.
	acceptLogPause = 10 * time.Second
)

// backoff handles temporary failures in an accept loop.
type backoff struct {
	pause  time.Duration
	logged time.Time
	silent int // failures that were not logged
}

// failed returns how long to wait, and whether to log the failure together with earlier ones that
// were not logged.
func (b *backoff) failed(now time.Time) (pause time.Duration, log bool) {
	b.pause = min(max(2*b.pause, acceptRetry), maxAcceptRetry)
	if !b.logged.IsZero() && now.Sub(b.logged) < acceptLogPause {
		b.silent++
		return b.pause, false
	}
	b.logged = now
	return b.pause, true
}

// succeeded resets the pauses to the shortest.
func (b *backoff) succeeded() { b.pause = 0 }

// refusals limits how often refused connections are logged. The server's lock guards it.
type refusals struct {
	logged time.Time
	silent int
}

// note reports whether to log a refusal, and how many earlier ones were not logged.
func (r *refusals) note(now time.Time) (silent int, log bool) {
	if !r.logged.IsZero() && now.Sub(r.logged) < acceptLogPause {
		r.silent++
		return 0, false
	}
	silent, r.silent, r.logged = r.silent, 0, now
	return silent, true
}

// establish starts a new connection when the rate limit allows it. It closes a connection if too
// many are waiting. Connections within the process are exempt.
func (s *Server) establish(nc net.Conn) {
	limit := s.service.Establishment
	if !limit.Enabled() {
		s.start(nc)
		return
	}
	if _, within := nc.(*memoryConn); within {
		limit.Exempt()
		s.start(nc)
		return
	}
	wait, ok := limit.Admit(s.service.Clock.Now())
	switch {
	case !ok:
		s.service.ConnectionRejected()
		s.logRefusal("Connection refused because too many wait to be established", address(nc.RemoteAddr()))
		_ = nc.Close()
	case wait == 0:
		s.start(nc)
	default:
		s.startLater(nc, wait)
	}
}

// startLater starts a connection after its wait, unless the server stops.
func (s *Server) startLater(nc net.Conn, wait time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		s.service.Establishment.Leave(0, false)
		_ = nc.Close()
		return
	}
	s.running.Add(1)
	go func() {
		defer s.running.Done()
		began := s.service.Clock.Now()
		due, timer := clock.NewTimer(s.service.Clock, wait)
		defer timer.Stop()
		select {
		case <-due:
			s.service.Establishment.Leave(clock.Since(s.service.Clock, began), true)
			s.start(nc)
		case <-s.base.Done():
			s.service.Establishment.Leave(clock.Since(s.service.Clock, began), false)
			_ = nc.Close()
		}
	}()
}

// logRefusal logs that a connection was refused, unless refusals suppresses the message.
func (s *Server) logRefusal(why, remote string, attrs ...any) {
	s.mu.Lock()
	silent, log := s.refused.note(s.service.Clock.Now())
	s.mu.Unlock()
	if log {
		s.log.Warn(why, append([]any{
			slog.String("c", "NETWORK"), slog.String("remote", remote),
			slog.Int("refusalsNotLogged", silent),
		}, attrs...)...)
	}
}
