package server

import (
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// watchInterval is how long a command runs, at least, before it is noticed that its client is gone; twice as long at most.
	watchInterval = 20 * time.Millisecond
	// watchShare is how many times as long as a look at all connections the pause after it is, at least: a server with very many
	// connections looks less often.
	watchShare = 50
	// watchIdle is how many looks in a row find nothing to watch before the next command has to wake the watcher.
	watchIdle = 50
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
func (c *conn) begin() {
	w := &c.watch
	w.mu.Lock()
	w.running, w.seen = true, false
	w.mu.Unlock()
	c.srv.watcher.wake()
}

// look starts the reading for a command that ran at the last look, too. It reports whether there is a command to look at again.
func (c *conn) look() bool {
	w := &c.watch
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case !w.running || w.done != nil || len(w.early) >= maxEarlyBytes:
		return false
	case !w.seen:
		w.seen = true
		return true
	}
	w.done = make(chan struct{})
	go c.listen(w.done)
	return false
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

// watcher looks at all connections again and again. Without commands it sleeps until the next one.
type watcher struct {
	asleep atomic.Bool
	woken  chan struct{}
}

// wake is called when a command begins. It costs one load while the watcher is awake.
func (w *watcher) wake() {
	if w.asleep.Load() && w.asleep.CompareAndSwap(true, false) {
		w.woken <- struct{}{}
	}
}

// watchConnections is the watcher's goroutine.
func (s *Server) watchConnections() {
	defer s.running.Done()
	timer := time.NewTimer(watchInterval)
	defer timer.Stop()
	for idle := 0; ; {
		select {
		case <-timer.C:
		case <-s.watcher.woken:
			idle = 0
		case <-s.base.Done():
			return
		}
		begin := time.Now()
		if s.look() {
			idle = 0
		} else {
			idle++
		}
		if idle < watchIdle || !s.sleepWatcher() {
			timer.Reset(max(watchInterval, watchShare*time.Since(begin)))
		}
	}
}

// look looks at all connections, and reports whether there is a command to look at again.
func (s *Server) look() bool {
	found := false
	s.each(func(c *conn) { found = c.look() || found })
	return found
}

// sleepWatcher lets the next command wake the watcher. It reports false where one has begun meanwhile: that one may have found the
// watcher awake.
func (s *Server) sleepWatcher() bool {
	s.watcher.asleep.Store(true)
	return !s.look() || !s.watcher.asleep.CompareAndSwap(true, false)
}
