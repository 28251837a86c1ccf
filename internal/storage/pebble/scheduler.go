package pebble

import (
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// grantInterval is how often a compaction that waits is tried again.
const grantInterval = 100 * time.Millisecond

// scheduler starts as many compactions as the store allows, like Pebble's own scheduler. That one
// looks every 100 ms whether a compaction waits. This one does so only while one waits, so that a
// store at rest has no timer: a timer that is due soon makes each wait of the process dearer.
type scheduler struct {
	db      pebble.DBForCompaction
	poke    chan struct{} // a compaction waits, or may start now
	stop    chan struct{}
	stopped chan struct{}

	mu      sync.Mutex
	running int
	waiting bool
	closed  bool
}

func newScheduler() *scheduler {
	return &scheduler{poke: make(chan struct{}, 1), stop: make(chan struct{}), stopped: make(chan struct{})}
}

// Register implements pebble.CompactionScheduler.
func (s *scheduler) Register(_ int, db pebble.DBForCompaction) {
	s.db = db
	go s.run()
}

// Unregister implements pebble.CompactionScheduler.
func (s *scheduler) Unregister() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	close(s.stop)
	<-s.stopped
}

// TrySchedule implements pebble.CompactionScheduler.
func (s *scheduler) TrySchedule() (bool, pebble.CompactionGrantHandle) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return false, nil
	case s.running < s.db.GetAllowedWithoutPermission():
		s.running++
		return true, permission{s}
	}
	s.waiting = true
	s.wake()
	return false, nil
}

// UpdateGetAllowedWithoutPermission implements pebble.CompactionScheduler.
func (s *scheduler) UpdateGetAllowedWithoutPermission() { s.wake() }

// wake makes run look now.
func (s *scheduler) wake() {
	select {
	case s.poke <- struct{}{}:
	default:
	}
}

// run is the only one that grants.
func (s *scheduler) run() {
	defer close(s.stopped)
	for {
		var again <-chan time.Time
		if s.waits() {
			again = time.After(grantInterval)
		}
		select {
		case <-s.stop:
			return
		case <-s.poke:
		case <-again:
		}
		s.grant()
	}
}

func (s *scheduler) waits() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.waiting
}

// grant lets compactions start that wait, while they may. Pebble's locks come before the
// scheduler's: it calls Pebble without its own.
func (s *scheduler) grant() {
	for s.take() {
		found, _ := s.db.GetWaitingCompaction()
		started := found && s.db.Schedule(permission{s})
		s.tell(found, started)
		if !started {
			return
		}
	}
}

// take counts one more compaction as running, if it may.
func (s *scheduler) take() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.running >= s.db.GetAllowedWithoutPermission() {
		return false
	}
	s.running++
	s.waiting = false // unless TrySchedule says so from here on
	return true
}

// tell notes whether a compaction was found and has started. One that was found may not be the last.
func (s *scheduler) tell(found, started bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = s.waiting || found
	if !started {
		s.running--
	}
}

// permission is what one compaction runs with.
type permission struct{ *scheduler }

// Started implements pebble.CompactionGrantHandle.
func (permission) Started() {}

// MeasureCPU implements pebble.CompactionGrantHandle.
func (permission) MeasureCPU(pebble.CompactionGoroutineKind) {}

// CumulativeStats implements pebble.CompactionGrantHandle.
func (permission) CumulativeStats(pebble.CompactionGrantHandleStats) {}

// Done implements pebble.CompactionGrantHandle.
func (p permission) Done() {
	p.mu.Lock()
	p.running--
	p.mu.Unlock()
	p.wake()
}
