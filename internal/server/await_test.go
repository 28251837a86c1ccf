package server

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/commands"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/memory"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// eventually waits up to a minute for a state that normally comes within a second.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(60 * time.Second); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(what)
		}
	}
}

// awaitFixture is a server whose memory is taken, but not by a running command.
type awaitFixture struct {
	srv    *Server
	budget *memory.Budget
	taken  memory.Holding
	ran    chan struct{}
	dials  map[string]func() net.Conn
}

func newAwaitFixture(t *testing.T) *awaitFixture {
	t.Helper()
	f := &awaitFixture{budget: memory.New(4 << 20), ran: make(chan struct{}, 10)}
	f.taken = f.budget.Hold()
	f.taken.Force(4 << 20)
	svc, err := commands.NewService(command.Deps{
		TestCommands: true, Memory: f.budget,
		Definitions: []command.Definition{{
			Name: "note", Loose: true,
			Properties: command.Properties{Writes: feature.Yes, Transactions: feature.No, StableAPI: feature.No},
			Run: func(context.Context, *command.Request, *bsonx.Builder) error {
				f.ran <- struct{}{}
				return nil
			},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	srv := New(Options{Service: svc})
	f.srv = srv
	t.Cleanup(func() { _ = srv.Shutdown(context.Background()) })
	addr, pipes := listenTCP(t, srv), NewMemoryListener("m")
	go func() { _ = srv.Serve(context.Background(), pipes) }()
	f.dials = map[string]func() net.Conn{
		"tcp": func() net.Conn { return dial(t, addr).Conn },
		"memory": func() net.Conn {
			nc, err := pipes.DialContext(t.Context(), "", "")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = nc.Close() })
			return nc
		},
	}
	return f
}

func (f *awaitFixture) waiting(t *testing.T, n int) {
	t.Helper()
	eventually(t, "the number of messages that wait is wrong", func() bool { return f.budget.Stats().Waiting == n })
}

func noteOf(size int) []byte {
	return request(1, 0, bsonx.NewDoc("note", 1, "$db", "d", "comment", strings.Repeat("x", size)))
}

// TestWaitEndsWithClient closes connections whose messages wait for memory. The wait of an
// incomplete message must end. A complete message must run.
func TestWaitEndsWithClient(t *testing.T) {
	t.Parallel()
	f := newAwaitFixture(t)
	message := noteOf(200_000)
	for name, open := range f.dials {
		part, whole := open(), open()
		if _, err := part.Write(message[:len(message)/2]); err != nil {
			t.Fatal(err)
		}
		if _, err := whole.Write(message); err != nil {
			t.Fatal(err)
		}
		f.waiting(t, 2)
		_ = part.Close()
		_ = whole.Close()
		f.waiting(t, 1)
		f.taken.Release()
		<-f.ran
		f.waiting(t, 0)
		f.taken.Force(4 << 20)
		if len(f.ran) > 0 {
			t.Errorf("%s: half of a message was run", name)
		}
	}
}

// TestGivenUpMessageIsRefused ends the wait of messages for which no memory can be expected. They
// must be refused with error 146 (ExceededMemoryLimit), and the connection must continue.
func TestGivenUpMessageIsRefused(t *testing.T) {
	t.Parallel()
	f := newAwaitFixture(t)
	for name, open := range f.dials {
		c := rawClient{t, open()}
		c.send(noteOf(200_000))
		f.waiting(t, 1)
		all, _ := f.srv.queue.list()
		all[0].end(context.DeadlineExceeded)
		if code := c.receive().Body.Lookup("code").Int32(); mongoerr.Code(code) != mongoerr.ExceededMemoryLimit {
			t.Errorf("%s: the answer is %d", name, code)
		}
		c.ping()
	}
	eventually(t, "the queue is still watched", func() bool {
		f.srv.queue.mu.Lock()
		defer f.srv.queue.mu.Unlock()
		return !f.srv.queue.watched
	})
}
