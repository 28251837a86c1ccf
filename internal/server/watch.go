package server

import (
	"errors"
	"os"
	"sync/atomic"
	"time"

	"github.com/sheafdb/sheaf/internal/clock"
)

const (
	// watchInterval is the interval of the checks. A command runs for one to two intervals before
	// the end of its client is noticed.
	watchInterval = 10 * time.Millisecond
	// watchShare is the minimum ratio of the pause to the time of a check of all connections. A
	// server with very many connections checks less often.
	watchShare = 50
	// watchIdle is the number of checks without a result after which the watcher sleeps.
	watchIdle = 50
	// maxEarlyBytes is how many bytes of the following requests are read while a command runs. A
	// client that sends more is no longer watched.
	maxEarlyBytes = 4 << 10
)

// watch notices when the client of a running command leaves: it reads from the connection while the
// command runs. That costs a goroutine, so it is done only for commands that run long.
type watch struct {
	// state is a phase and, in the higher bits, the number of the command. A command whose
	// connection is not watched costs two writes of state.
	state atomic.Uint64
	turn  uint64        // the connection's count of commands
	seen  uint64        // state at the last look; only the watcher uses it
	done  chan struct{} // closed at the end of the reading, in the phase watchListening

	// early has the bytes that were read meanwhile. It belongs to the reader until done, and then
	// to the connection.
	early []byte
}

// The phases of a watch, in the lowest bits of its state.
const (
	watchOff       = iota // no command runs, or the connection must not be read
	watchRunning          // the watcher may begin to read
	watchListening        // a goroutine reads

	phaseBits = 2
	phaseMask = 1<<phaseBits - 1
)

// Read returns the bytes that the watch has already read, and then bytes from the network.
func (c *conn) Read(p []byte) (int, error) {
	if len(c.watch.early) > 0 {
		n := copy(p, c.watch.early)
		c.watch.early = c.watch.early[n:]
		return n, nil
	}
	return c.nc.Read(p)
}

// begin is called before a command runs. It allows the watcher to read from the connection.
func (c *conn) begin() {
	w := &c.watch
	if len(w.early) >= maxEarlyBytes {
		return
	}
	w.turn++
	w.state.Store(w.turn<<phaseBits | watchRunning)
}

// look starts reading for a command that was already running at the previous check. It reports
// whether there is a command to check again. Only the watcher calls it.
func (c *conn) look() bool {
	w := &c.watch
	state := w.state.Load()
	switch {
	case state&phaseMask != watchRunning, !c.state.Op.Looked():
		return false
	case w.seen != state:
		w.seen = state
		return true
	}
	w.done = make(chan struct{})
	if w.state.CompareAndSwap(state, state&^phaseMask|watchListening) {
		go c.listen(w.done)
	}
	return false
}

// listen reads until the client leaves, which ends the operation, or until the command has ended.
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

// end is called after a command has run. When it returns, nothing reads from the connection any
// more.
func (c *conn) end() {
	if c.watch.state.Swap(watchOff)&phaseMask != watchListening {
		return
	}
	c.wake()
	<-c.watch.done
	_ = c.nc.SetReadDeadline(time.Time{})
}

// watcher checks all connections regularly, while there are commands that check whether they have
// ended.
type watcher struct {
	asleep atomic.Bool
	woken  chan struct{}
}

// wake is called when a command first checks whether it has ended. It costs one load while the
// watcher is awake. Commands that never check leave the watcher asleep, because a timer that is due
// soon makes each wait of the process for a message more expensive.
func (w *watcher) wake() {
	if w.asleep.Load() && w.asleep.CompareAndSwap(true, false) {
		w.woken <- struct{}{}
	}
}

// watchConnections is the watcher's goroutine.
func (s *Server) watchConnections() {
	defer s.running.Done()
	due, timer := clock.NewTimer(s.service.Clock, watchInterval)
	defer timer.Stop()
	for idle := 0; ; {
		select {
		case <-due:
		case <-s.watcher.woken:
			idle = 0
		case <-s.base.Done():
			return
		}
		begin := s.service.Clock.Now()
		if s.look() {
			idle = 0
		} else {
			idle++
		}
		if idle < watchIdle || !s.sleepWatcher() {
			timer.Reset(max(watchInterval, watchShare*clock.Since(s.service.Clock, begin)))
		}
	}
}

// look checks all connections, and reports whether there is a command to check again.
func (s *Server) look() bool {
	found := false
	s.each(func(c *conn) { found = c.look() || found })
	return found
}

// sleepWatcher puts the watcher to sleep, so that the next command wakes it. It reports false if a
// command has begun meanwhile, because that command may have found the watcher awake.
func (s *Server) sleepWatcher() bool {
	s.watcher.asleep.Store(true)
	return !s.look() || !s.watcher.asleep.CompareAndSwap(true, false)
}
