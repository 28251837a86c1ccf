package server

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/clock/clocktest"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/commands"
	"github.com/sheafdb/sheaf/internal/session"
)

// newManualServer returns a server whose time the test moves.
func newManualServer(t *testing.T, defs ...command.Definition) (*Server, *clocktest.Manual) {
	t.Helper()
	clock := clocktest.New(time.Unix(1_000_000, 0))
	svc, err := commands.NewService(command.Deps{Definitions: defs, TestCommands: true, Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	srv := New(Options{Service: svc})
	t.Cleanup(func() { _ = srv.Shutdown(context.Background()) })
	return srv, clock
}

// advanceUntil advances the clock by d until done returns true.
func advanceUntil(t *testing.T, clock *clocktest.Manual, d time.Duration, done func() bool) {
	t.Helper()
	for range 5000 {
		if done() {
			return
		}
		clock.Advance(d)
		time.Sleep(time.Millisecond)
	}
	t.Fatal("it did not happen")
}

// TestReapFollowsTheClock lets half an hour pass, after which a session ends.
func TestReapFollowsTheClock(t *testing.T) {
	t.Parallel()
	srv, clock := newManualServer(t)
	sessions := srv.service.Sessions
	if _, err := sessions.Use(session.SessionID{UUID: [16]byte{1}}, clock.Now()); err != nil {
		t.Fatal(err)
	}
	clock.Advance(29 * time.Minute)
	if sessions.Len() != 1 {
		t.Fatal("the session ended early")
	}
	advanceUntil(t, clock, DefaultReapInterval, func() bool { return sessions.Len() == 0 })
}

// TestLaterStartFollowsTheClock checks that a connection above the rate waits for its turn.
func TestLaterStartFollowsTheClock(t *testing.T) {
	t.Parallel()
	srv, clock := newManualServer(t)
	client, server := net.Pipe()
	defer client.Close()
	count := func() int {
		srv.mu.Lock()
		defer srv.mu.Unlock()
		return len(srv.conns)
	}
	srv.startLater(server, time.Hour)
	clock.Advance(time.Minute)
	if count() != 0 {
		t.Fatal("the connection was started early")
	}
	advanceUntil(t, clock, time.Hour, func() bool { return count() == 1 })
}

// TestGraceFollowsTheClock shuts a server down while a command ignores that it was interrupted. The
// server must close its connection after the grace.
func TestGraceFollowsTheClock(t *testing.T) {
	t.Parallel()
	started, leave := make(chan struct{}), make(chan struct{})
	srv, clock := newManualServer(t, command.Definition{
		Name: "deaf",
		Run: func(context.Context, *command.Request, *bsonx.Builder) error {
			close(started)
			<-leave
			return nil
		},
	})
	c := dial(t, listenTCP(t, srv))
	c.send(request(1, 0, bsonx.NewDoc("deaf", 1, "$db", "test")))
	<-started
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		_ = srv.Shutdown(ctx)
	}()
	closed := make(chan bool, 1)
	go func() { closed <- c.closed() }()
	advanceUntil(t, clock, interruptGrace, func() bool { return len(closed) == 1 })
	if !<-closed {
		t.Error("the connection stays open")
	}
	close(leave)
	<-stopped
}

// TestShutdownEndsTheQueue shuts a server down between two checks of a waiting message.
func TestShutdownEndsTheQueue(t *testing.T) {
	t.Parallel()
	srv, _ := newManualServer(t)
	client, server := net.Pipe()
	defer client.Close()
	defer server.Close()
	srv.enqueue(&waiting{nc: server, end: func(error) {}})
	if err := srv.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}
