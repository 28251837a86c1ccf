package server

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/commands"
	"github.com/sheafdb/sheaf/internal/memory"
	"github.com/sheafdb/sheaf/internal/torture"
)

// TestStalledMessages has many connections that send half of a message and then stall. Their memory
// must stay within the budget, small commands of other clients must be answered meanwhile, and the
// connections must be closed in the end.
func TestStalledMessages(t *testing.T) {
	t.Parallel()
	for name, size := range torture.SomeOf(map[string]int{
		"small": 60_000, "large": 400_000, "larger than the budget": 8_000_000,
	}, 1) {
		connections := 16
		if size < memory.Step {
			connections = 50 // more than fit
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const limit = 2 << 20
			budget := memory.New(limit)
			svc, err := commands.NewService(command.Deps{TestCommands: true, Memory: budget})
			if err != nil {
				t.Fatal(err)
			}
			srv := New(Options{Service: svc, Stall: 100 * time.Millisecond})
			t.Cleanup(func() { _ = srv.Shutdown(context.Background()) })
			addr := listenTCP(t, srv)
			msg := request(1, 0, bsonx.NewDoc("ping", 1, "$db", "admin", "comment", strings.Repeat("x", size)))
			conns := make([]net.Conn, connections)
			for i := range conns {
				conns[i] = dial(t, addr)
				_, _ = conns[i].Write(msg[:min(len(msg)/2, 100_000)])
			}
			bystander := dial(t, addr)
			for start := time.Now(); time.Since(start) < time.Second; time.Sleep(20 * time.Millisecond) {
				bystander.ping()
				if used := budget.Stats().Used; used > limit {
					t.Fatalf("%d of %d bytes are held", used, limit)
				}
			}
			var wg sync.WaitGroup
			for _, conn := range conns {
				wg.Go(func() { waitForEnd(t, conn) })
			}
			wg.Wait()
			if s := budget.Stats(); s.Used != 0 || s.Waiting != 0 || s.Peak == 0 {
				t.Errorf("after the end: %+v", s)
			}
		})
	}
}

// waitForEnd fails if a connection stays open. A connection that waits for its share does not count
// as stalled: it is given up.
func waitForEnd(t *testing.T, conn net.Conn) {
	_ = conn.SetReadDeadline(time.Now().Add(20 * time.Second))
	_, err := io.Copy(io.Discard, conn)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("a connection that stalled in the middle of a message is still open")
	}
}
