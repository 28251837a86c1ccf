package server

import (
	"errors"
	"os"
	"sync/atomic"
	"time"
)

const (
	// watchInterval is how long a command runs, at least, before it is noticed that its client is
	// gone; twice as long at most.
	watchInterval = 10 * time.Millisecond
	// watchShare is how many times as long as a look at all connections the pause after it is, at
	// least: a server with very many connections looks less often.
	watchShare = 50
	// watchIdle is how many looks in a row find nothing to watch before the watcher sleeps.
	watchIdle = 50
	// maxEarlyBytes is how much of the requests that follow is read while a command runs. A client
	// that sends more is not watched any further.
	maxEarlyBytes = 4 << 10
)

// watch notices that the client of a running command goes away: it reads from the connection while
// the command runs. That costs a goroutine, and only commands that run long have one.
type watch struct {
	// state is a phase and, above it, the number of the command. A command that nobody reads for
	// costs two writes of it.
	state atomic.Uint64
	turn  uint64        // the connection's count of commands
	seen  uint64        // state at the last look; the watcher's
	done  chan struct{} // closed at the end of the reading, in the phase watchListening

	// early is what was read meanwhile. It is the reader's until done, then the connection's.
	early []byte
}

// The phases of a watch, in the lowest bits of its state.
const (
	watchOff       = iota // no command runs, or nobody shall read meanwhile
	watchRunning          // the watcher may begin to read
	watchListening        // a goroutine reads

	phaseBits = 2
	phaseMask = 1<<phaseBits - 1
)

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
	if len(w.early) >= maxEarlyBytes {
		return
	}
	w.turn++
	w.state.Store(w.turn<<phaseBits | watchRunning)
}

// look starts the reading for a command that ran at the last look, too. It reports whether there is
// a command to look at again. Only the watcher calls it.
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

// end is called after a command has run. Nothing reads from the connection any more when it
// returns.
func (c *conn) end() {
	if c.watch.state.Swap(watchOff)&phaseMask != watchListening {
		return
	}
	c.wake()
	<-c.watch.done
	_ = c.nc.SetReadDeadline(time.Time{})
}

// watcher looks at all connections again and again, while there are commands that look whether they
// have ended.
type watcher struct {
	asleep atomic.Bool
	woken  chan struct{}
}

// wake is called when a command looks for the first time whether it has ended. It costs one load
// while the watcher is awake. Commands that never look leave the watcher asleep: a timer that is
// due soon makes each wait of the process for a message dearer.
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

// sleepWatcher lets the next command wake the watcher. It reports false where one has begun
// meanwhile: that one may have found the watcher awake.
func (s *Server) sleepWatcher() bool {
	s.watcher.asleep.Store(true)
	return !s.look() || !s.watcher.asleep.CompareAndSwap(true, false)
}
