package server

import (
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/wire"
)

// TestIdleConnectionsAreCheap limits the server's memory for an idle connection: its goroutine's
// stack, its buffer and its state.
func TestIdleConnectionsAreCheap(t *testing.T) {
	const (
		conns = 1000
		limit = 20 << 10
	)
	srv := newTestServer(t)
	addr := listenTCP(t, srv)
	before := memoryInUse()
	var clients []net.Conn
	for range conns {
		c := dial(t, addr)
		c.ping()
		clients = append(clients, c)
	}
	each := (memoryInUse() - before) / conns
	t.Logf("%d bytes for both ends of an idle connection", each)
	if each > limit {
		t.Errorf("an idle connection takes %d bytes", each)
	}
	runtime.KeepAlive(clients)
}

func memoryInUse() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

// TestIdleConnectionsKeepNoMessage sends large messages of each form. After the replies, the
// connections must not hold any part of them.
func TestIdleConnectionsKeepNoMessage(t *testing.T) {
	const (
		conns = 8
		size  = 4 << 20
	)
	text := strings.Repeat("x", size)
	insert := func(flags wire.Flags, extra string) []byte {
		out, start := wire.BeginMsg(nil, 7, 0, flags)
		out = append(out, bsonx.NewDoc("insert", "c", "$db", "d", extra, 1)...)
		out = wire.AppendSequence(out, "documents", bsonx.NewDoc("s", text), bsonx.NewDoc("s", 1))
		return wire.FinishMsg(out, start)
	}
	for name, message := range map[string][]byte{
		"body":               request(7, 0, bsonx.NewDoc("ping", 1, "comment", text, "$db", "admin")),
		"sequence":           insert(0, "ordered"),
		"a sequence twice":   wireTwice(text),
		"unknown field":      insert(0, "nosuch"),
		"an unknown command": request(7, 0, bsonx.NewDoc("nosuch", text, "$db", "admin")),
	} {
		t.Run(name, func(t *testing.T) {
			addr := listenTCP(t, newTestServer(t))
			var clients []net.Conn
			for range conns {
				c := dial(t, addr)
				c.ping()
				clients = append(clients, c)
			}
			before := memoryInUse()
			for _, c := range clients {
				client := rawClient{t, c}
				client.send(message)
				client.receive()
			}
			// A connection releases its message after the reply has been sent.
			kept := memoryInUse() - before
			for end := time.Now().Add(10 * time.Second); kept > conns*size/4 && time.Now().
				Before(end); kept = memoryInUse() - before {
				time.Sleep(10 * time.Millisecond)
			}
			if kept > conns*size/4 {
				t.Errorf("%d idle connections keep %d bytes", conns, kept)
			}
			runtime.KeepAlive(clients)
		})
	}
}

// wireTwice returns a message that is refused because it has the same sequence twice.
func wireTwice(text string) []byte {
	out, start := wire.BeginMsg(nil, 7, 0, 0)
	out = append(out, bsonx.NewDoc("insert", "c", "$db", "d")...)
	for range 2 {
		out = wire.AppendSequence(out, "documents", bsonx.NewDoc("s", text))
	}
	return wire.FinishMsg(out, start)
}
