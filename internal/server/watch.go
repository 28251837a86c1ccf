package server

import (
	"errors"
	"os"
	"sync"
	"time"
)

const (
	// watchInterval is how long a command runs, at least, before it is noticed that its client is gone.
	watchInterval = 200 * time.Millisecond
	// maxEarlyBytes is how much of the requests that follow is read while a command runs. A client that sends more is not
	// watched any further.
	maxEarlyBytes = 4 << 10
)

// watch notices that the client of a running command goes away: it reads from the connection while the command runs. That
// costs a goroutine, and only commands that run long have one.
type watch struct {
	mu      sync.Mutex
	running bool
	seen    bool          // the command ran at the last look already
	done    chan struct{} // closed at the end of the reading; nil where there is none

	// early is what was read meanwhile. It is the reader's until done, then the connection's.
	early []byte
}

// Read reads what the watch has read already, then from the network.
func (c *conn) Read(p []byte) (int, error) {
	if len(c.watch.early) > 0 {
		n := copy(p, c.watch.early)
		c.watch.early = c.watch.early[n:]
		return n, nil
	}
	return c.nc.Read(p)
}

// begin is called before a command runs.
func (w *watch) begin() {
	w.mu.Lock()
	w.running, w.seen = true, false
	w.mu.Unlock()
}

// look starts the reading for a command that ran at the last look, too.
func (c *conn) look() {
	w := &c.watch
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case !w.running || w.done != nil:
	case !w.seen:
		w.seen = true
	case len(w.early) < maxEarlyBytes:
		w.done = make(chan struct{})
		go c.listen(w.done)
	}
}

// listen reads until the client is gone, which ends the operation, or the command has ended.
func (c *conn) listen(done chan struct{}) {
	defer close(done)
	var buf [512]byte
	for len(c.watch.early) < maxEarlyBytes {
		n, err := c.nc.Read(buf[:])
		c.watch.early = append(c.watch.early, buf[:n]...)
		if err != nil {
			if !errors.Is(err, os.ErrDeadlineExceeded) {
				c.state.Op.Disconnect()
			}
			return
		}
	}
}

// end is called after a command has run. Nothing reads from the connection any more when it returns.
func (c *conn) end() {
	w := &c.watch
	w.mu.Lock()
	done := w.done
	w.running, w.done = false, nil
	w.mu.Unlock()
	if done == nil {
		return
	}
	c.wake()
	<-done
	_ = c.nc.SetReadDeadline(time.Time{})
}

// watchConnections looks at all connections again and again.
func (s *Server) watchConnections() {
	defer s.running.Done()
	ticker := time.NewTicker(watchInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			s.each((*conn).look)
		case <-s.base.Done():
			return
		}
	}
}
