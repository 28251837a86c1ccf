package server

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/torture"
)

// writeTime is the duration of a command that is long enough for the watcher to see it.
const writeTime = 40 * watchInterval

// waiter is a command that runs until its context ends, or for limit, and reports how it ended.
type waiter struct {
	started chan struct{}
	ended   chan error
}

func newWaiter() *waiter { return &waiter{make(chan struct{}, 1), make(chan error, 1)} }

func (w *waiter) command(name string, read bool, limit time.Duration) command.Definition {
	writes := feature.Yes
	if read {
		writes = feature.No
	}
	return command.Definition{
		Name: name, Read: read, Loose: true,
		Properties: command.Properties{Writes: writes, Transactions: feature.No, StableAPI: feature.No},
		Run: func(ctx context.Context, _ *command.Request, _ *bsonx.Builder) error {
			w.started <- struct{}{}
			var err error
			select {
			case <-ctx.Done():
				err = ctx.Err()
			case <-time.After(limit):
			}
			w.ended <- err
			return err
		},
	}
}

func (w *waiter) end(t *testing.T) error {
	t.Helper()
	select {
	case err := <-w.ended:
		return err
	case <-time.After(20 * time.Second):
		t.Fatal("the command did not end")
		return nil
	}
}

func TestDisconnectEndsReads(t *testing.T) {
	t.Parallel()
	w := newWaiter()
	srv := newTestServer(t, w.command("readWait", true, time.Minute))
	memory := NewMemoryListener("m")
	go func() { _ = srv.Serve(context.Background(), memory) }()
	addr := listenTCP(t, srv)
	eventuallyAsleep(t, srv)
	for name, open := range map[string]func() (net.Conn, error){
		"tcp":    func() (net.Conn, error) { return net.Dial("tcp", addr) },
		"memory": func() (net.Conn, error) { return memory.DialContext(t.Context(), "", "") },
	} {
		nc, err := open()
		if err != nil {
			t.Fatal(err)
		}
		c := &rawClient{t: t, Conn: nc}
		c.send(request(1, 0, bsonx.NewDoc("readWait", 1, "$db", "admin")))
		<-w.started
		if err := nc.Close(); err != nil {
			t.Fatal(err)
		}
		if err := w.end(t); mongoerr.CodeOf(err) != mongoerr.ClientDisconnect {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// eventuallyAsleep waits until the watcher sleeps.
func eventuallyAsleep(t *testing.T, srv *Server) {
	t.Helper()
	for range 2000 {
		if srv.watcher.asleep.Load() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("the watcher of an idle server does not sleep")
}

// TestDisconnectIsNoticedSoon measures how long a command continues without its client. The limit
// is twenty times the time on an idle machine.
func TestDisconnectIsNoticedSoon(t *testing.T) {
	t.Parallel()
	w := newWaiter()
	srv := newTestServer(t, w.command("readWait", true, time.Minute))
	addr := listenTCP(t, srv)
	var shortest time.Duration
	for i := range 5 {
		c := dial(t, addr)
		c.send(request(1, 0, bsonx.NewDoc("readWait", 1, "$db", "admin")))
		<-w.started
		left := time.Now()
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		_ = w.end(t)
		if took := time.Since(left); i == 0 || took < shortest {
			shortest = took
		}
	}
	t.Logf("noticed after %v", shortest)
	if shortest > 50*watchInterval {
		t.Errorf("a closed connection was noticed after %v", shortest)
	}
}

// TestDisconnectLeavesWritesAlone checks that a running write continues after its client has left,
// and that a write which the client sent before it left still runs.
func TestDisconnectLeavesWritesAlone(t *testing.T) {
	t.Parallel()
	w := newWaiter()
	srv := newTestServer(t, w.command("writeWait", false, writeTime))
	c := dial(t, listenTCP(t, srv))
	for id := range int32(2) {
		c.send(request(id+1, 0, bsonx.NewDoc("writeWait", 1, "$db", "admin")))
	}
	<-w.started
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := w.end(t); err != nil {
			t.Error(err)
		}
	}
}

// TestRequestsDuringACommand sends requests in pieces while a watched command runs. They must be
// answered in order.
func TestRequestsDuringACommand(t *testing.T) {
	t.Parallel()
	w := newWaiter()
	srv := newTestServer(t, w.command("readWait", true, writeTime))
	c := dial(t, listenTCP(t, srv))
	c.send(request(1, 0, bsonx.NewDoc("readWait", 1, "$db", "admin")))
	<-w.started
	var rest []byte
	for id := range int32(6) {
		pad := make([]byte, 1500*int(id)) // more than is read early, and more than the connection's buffer holds
		rest = append(rest, request(id+2, 0, bsonx.NewDoc("ping", 1, "comment", string(pad), "$db", "admin"))...)
	}
	for len(rest) > 0 {
		n := min(len(rest), 700)
		c.send(rest[:n])
		rest = rest[n:]
		time.Sleep(writeTime / 100)
	}
	if err := w.end(t); err != nil {
		t.Error(err)
	}
	for id := range int32(7) {
		if m := c.receive(); m.ResponseTo != id+1 || !m.Body.Lookup("ok").Truthy() {
			t.Errorf("reply %d to %d: %v", id, m.ResponseTo, m.Body)
		}
	}
	c.ping()
}

// TestShutdownWhileWatched shuts a server down while the watcher reads from the connection of a
// running command.
func TestShutdownWhileWatched(t *testing.T) {
	t.Parallel()
	w := newWaiter()
	srv := newTestServer(t, w.command("readWait", true, writeTime))
	c := dial(t, listenTCP(t, srv))
	c.send(request(1, 0, bsonx.NewDoc("readWait", 1, "$db", "admin")))
	<-w.started
	time.Sleep(5 * watchInterval)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := srv.Shutdown(ctx); err != nil {
		t.Fatal(err)
	}
	if err := w.end(t); err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestShortCommandsLetTheWatcherSleep checks that commands that never check for their end do not
// keep a timer running.
func TestShortCommandsLetTheWatcherSleep(t *testing.T) {
	torture.SkipShort(t)
	t.Parallel()
	srv := newMemberServer(t)
	c := newCannedConn(srv, driversPing(), 1<<30)
	srv.mu.Lock()
	srv.conns[c] = struct{}{}
	srv.mu.Unlock()
	asleep := func(want bool) {
		t.Helper()
		for end := time.Now().Add(time.Minute); srv.watcher.asleep.Load() != want; {
			if time.Now().After(end) {
				t.Fatalf("the watcher's sleep is %v", !want)
			}
			if err := c.step(context.Background()); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Millisecond)
		}
	}
	asleep(true)
	c.begin()
	c.state.Op.Looks = srv.watcher.wake
	c.state.Op.Begin(context.Background(), 1, time.Now())
	if err := c.state.Op.Err(); err != nil || srv.watcher.asleep.Load() {
		t.Errorf("the command has looked, %v, and the watcher sleeps", err)
	}
	c.state.Op.Finish()
	c.end()
	asleep(true)
}
