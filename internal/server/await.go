package server

import (
	"context"
	"io"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/sheafdb/sheaf/internal/clock"
	"github.com/sheafdb/sheaf/internal/relief"
)

// awaitInterval is the interval between two checks of the messages that wait for their share of
// memory.
const awaitInterval = time.Second / relief.LooksPerSecond

// waiting is a message that waits for its share of the server's memory.
type waiting struct {
	nc net.Conn
	// rest is the number of bytes of the message that are not read yet.
	rest int
	// patience counts the checks.
	patience relief.Patience
	end      context.CancelCauseFunc
}

// queue has the waiting messages in the order of their arrival. One goroutine checks all of them
// while there are any.
type queue struct {
	mu      sync.Mutex
	all     []*waiting
	watched bool
}

// await waits until a message of size bytes has got need bytes of the server's memory. It fails
// with ExceededMemoryLimit if the share cannot be expected, and with io.ErrUnexpectedEOF if the
// client leaves before it has sent the whole message. The caller must not have read anything beyond
// the connection's buffer.
func (c *conn) await(ctx context.Context, need int64, size int) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	w := &waiting{nc: c.nc, rest: size - (c.w - c.r), end: end}
	c.srv.enqueue(w)
	defer c.srv.dequeue(w)
	return c.request.Admit(ctx, need)
}

func (s *Server) enqueue(w *waiting) {
	q := &s.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	q.all = append(q.all, w)
	if !q.watched {
		q.watched = true
		s.running.Go(s.watchQueue)
	}
}

func (s *Server) dequeue(w *waiting) {
	q := &s.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	if i := slices.Index(q.all, w); i >= 0 {
		q.all = slices.Delete(q.all, i, i+1)
	}
}

// list returns the waiting messages. If the queue is empty, it reports false and marks the queue as
// unwatched.
func (q *queue) list() ([]*waiting, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.watched = len(q.all) > 0
	return slices.Clone(q.all), q.watched
}

// watchQueue checks the waiting messages until the queue is empty, or until Shutdown, which ends
// the waits of all connections.
func (s *Server) watchQueue() {
	ticks, stop := clock.NewTicker(s.service.Clock, awaitInterval)
	defer stop()
	w := s.service.Relief.Watch()
	for {
		select {
		case <-ticks:
		case <-s.base.Done():
			return
		}
		all, some := s.queue.list()
		if !some {
			return
		}
		lookAtQueue(w, all)
	}
}

// lookAtQueue ends the waits of clients that have left, and of messages for which no memory can be
// expected.
func lookAtQueue(watch *relief.Watch, all []*waiting) {
	expected := watch.Look()
	for _, w := range all {
		switch {
		case hasLeft(w.nc, w.rest):
			w.end(io.ErrUnexpectedEOF)
		case !w.patience.Look(expected):
			w.end(context.DeadlineExceeded)
		}
	}
}

// hasLeft reports whether the client has closed its connection before sending n more bytes. A
// complete message is run even if its client no longer waits for the reply.
func hasLeft(nc net.Conn, n int) bool {
	if m, ok := nc.(*memoryConn); ok {
		return m.in.endsWithin(n)
	}
	return endsWithin(nc, n)
}

// endsWithin reports whether the writer has closed the pipe with fewer than n unread bytes.
func (p *memoryPipe) endsWithin(n int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.writeEnd && len(p.buf)-p.off < n
}
