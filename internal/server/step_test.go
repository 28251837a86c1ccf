package server

import (
	"context"
	"io"
	"net"
	"testing"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/commands"
	"github.com/sheafdb/sheaf/internal/wire"
)

// cannedConn is a connection whose client sends the same message again and again, and reads no
// reply.
type cannedConn struct {
	net.Conn
	message []byte
	left    int
}

func (c *cannedConn) Read(p []byte) (int, error) {
	if c.left == 0 {
		return 0, io.EOF
	}
	c.left--
	return copy(p, c.message), nil
}
func (c *cannedConn) Write(p []byte) (int, error)      { return len(p), nil }
func (c *cannedConn) Close() error                     { return nil }
func (c *cannedConn) LocalAddr() net.Addr              { return memoryAddr("canned") }
func (c *cannedConn) RemoteAddr() net.Addr             { return memoryAddr("canned") }
func (c *cannedConn) SetReadDeadline(time.Time) error  { return nil }
func (c *cannedConn) SetWriteDeadline(time.Time) error { return nil }

// driversPing returns a ping in the form of the official driver.
func driversPing() []byte {
	out, start := wire.BeginMsg(nil, 7, 0, 0)
	out = append(out, bsonx.NewDoc(
		"ping", 1,
		"lsid", bsonx.NewDoc("id", bsonx.Binary(4, []byte("0123456789abcdef"))),
		"$clusterTime", bsonx.NewDoc("clusterTime", bsonx.Timestamp(1, 1),
			"signature", bsonx.NewDoc("hash", bsonx.Binary(0, make([]byte, 20)), "keyId", int64(0))),
		"$db", "admin",
		"$readPreference", bsonx.NewDoc("mode", "primaryPreferred"),
	)...)
	return wire.FinishMsg(out, start)
}

// newMemberServer returns a server that presents itself as the member of a replica set, like `sheaf
// serve`.
func newMemberServer(tb testing.TB) *Server {
	tb.Helper()
	svc, err := commands.NewService(command.Deps{ReplicaSet: "rs0"})
	if err != nil {
		tb.Fatal(err)
	}
	srv := New(Options{Service: svc})
	tb.Cleanup(func() { _ = srv.Shutdown(context.Background()) })
	return srv
}

// newCannedConn returns a connection that no goroutine serves yet. Its client sends message times
// times.
func newCannedConn(srv *Server, message []byte, times int) *conn {
	nc := &cannedConn{message: message, left: times}
	c := &conn{srv: srv, nc: nc, buf: make([]byte, idleBuffer), request: srv.service.Memory.Hold()}
	c.state = srv.service.NewConn(1, "canned", "canned", true)
	c.state.Output.Room = c.room
	return c
}

// BenchmarkStep measures the server's work for a ping without system calls, from the message's
// bytes to the reply's bytes.
func BenchmarkStep(b *testing.B) {
	c := newCannedConn(newMemberServer(b), driversPing(), b.N)
	b.ReportAllocs()
	b.ResetTimer()
	c.serve(context.Background())
}

// TestPingAllocatesNothing checks that the fixed part of a command does not allocate. A garbage
// collection may empty the pools.
func TestPingAllocatesNothing(t *testing.T) {
	const runs = 10_000
	c := newCannedConn(newMemberServer(t), driversPing(), runs+10)
	allocs := testing.AllocsPerRun(runs, func() {
		if err := c.step(context.Background()); err != nil {
			t.Fatal(err)
		}
	})
	if allocs >= 0.5 && !raceEnabled {
		t.Errorf("a ping takes %v allocations", allocs)
	}
}
