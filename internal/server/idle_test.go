package server

import (
	"net"
	"runtime"
	"testing"
)

// TestIdleConnectionsAreCheap bounds what an idle connection holds on the server's side: its goroutine's stack, its buffer
// and its state.
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
