package pebble

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/sheafdb/sheaf/internal/clock"
	"github.com/sheafdb/sheaf/internal/storage"
)

const (
	// checkEvery is the interval of checks of free space. There are also checks after every few
	// megabytes written.
	checkEvery = time.Second
	// checkFullEvery is how often refused commits check the free space again.
	checkFullEvery = 50 * time.Millisecond
	// maxStep is the largest number of bytes written between two checks.
	maxStep = 16 << 20
	// minStep is the smallest number of bytes written between two checks.
	minStep = 64 << 10
	// smallWrite is how many bytes a transaction that deletes may put while the disk is nearly
	// full.
	smallWrite = 1 << 10
	// waitStep is how long a write that found no space waits before it is retried.
	waitStep = 20 * time.Millisecond
)

// space watches free space. It refuses commits early enough for the writes in progress to find
// space: they go to the WAL and later to a table, too.
type space struct {
	log   *slog.Logger
	clock clock.Clock
	usage func() (vfs.DiskUsage, error)
	// wanted is the reserve on a large disk.
	wanted int64
	// reserve is the reserve on this disk, or 0 if there is no reserve. free is the free space.
	reserve, free atomic.Int64
	// total is the size of the disk, or 0 if it is unknown.
	total atomic.Int64
	// budget is the number of bytes that may be written before the next check.
	budget atomic.Int64
	// pending is the number of bytes of admitted commits that are not written yet.
	pending atomic.Int64
	// waiting counts the writes that found no space and wait. Meanwhile commits are refused, even
	// if the file system reports free space: there may be a quota.
	waiting atomic.Int64
	// full means that commits are refused. critical means that commits that shrink the store are
	// refused, too.
	full, critical atomic.Bool

	mu      sync.Mutex
	checked time.Time
	stop    chan struct{}
	stopped chan struct{}
}

// isNoSpace reports whether an error means that the disk is full or the user's quota is used up.
func isNoSpace(err error) bool { return vfs.IsNoSpaceError(err) || errors.Is(err, syscall.EDQUOT) }

// start starts watch in a goroutine.
func (s *space) start(log *slog.Logger, c clock.Clock, usage func() (vfs.DiskUsage, error), reserve int64) {
	s.log, s.clock, s.usage, s.wanted = log, c, usage, max(reserve, 0)
	s.stop, s.stopped = make(chan struct{}), make(chan struct{})
	s.reserve.Store(s.wanted)
	s.check()
	go s.watch()
}

// watch checks free space regularly, because other programs use the disk, too.
func (s *space) watch() {
	defer close(s.stopped)
	if s.wanted == 0 {
		return
	}
	ticks, stop := clock.NewTicker(s.clock, checkEvery)
	defer stop()
	for {
		select {
		case <-s.stop:
			return
		case <-ticks:
			s.check()
		}
	}
}

// close stops watch.
func (s *space) close() {
	close(s.stop)
	<-s.stopped
}

// check reads the free space. A full disk counts as usable again when the free space exceeds the
// reserve by a quarter.
func (s *space) check() {
	if s.wanted == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.checked = s.clock.Now()
	usage, err := s.usage()
	if err != nil {
		// A file system that cannot report its space, such as one in memory, is never full.
		s.free.Store(1 << 62)
		s.budget.Store(maxStep)
		return
	}
	// The reserve is at most an eighth of the disk. On a disk of 64 MiB, a reserve of 64 MiB would
	// leave no space for data.
	total, free := int64(min(usage.TotalBytes, 1<<62)), int64(min(usage.AvailBytes, 1<<62))
	reserve := min(s.wanted, total/8)
	s.total.Store(total)
	s.reserve.Store(reserve)
	s.free.Store(free)
	s.budget.Store(max(min(maxStep, (free-reserve)/4), minStep))
	s.critical.Store(free < reserve/4)
	was := s.full.Load()
	switch {
	case free < reserve:
		s.full.Store(true)
	case free >= reserve+reserve/4:
		s.full.Store(false)
	}
	if is := s.full.Load(); is != was {
		s.log.Warn("storage: free space", "refusingWrites", is, "freeBytes", free, "reserveBytes", reserve)
	}
}

// missed records that the file system had no space.
func (s *space) missed() {
	if s.wanted > 0 {
		s.full.Store(true)
	}
}

// written counts bytes that were written to the disk. When the budget until the next check is used
// up, it checks the free space.
func (s *space) written(n int) {
	if n > 0 && s.budget.Add(-int64(n)) < 0 {
		s.check()
	}
}

// admit decides whether a change of this many bytes may be written, and counts it as pending if so.
func (s *space) admit(bytes int64, shrinks bool) error {
	if s.wanted == 0 {
		s.pending.Add(bytes)
		return nil
	}
	if s.refusing() {
		s.mu.Lock()
		stale := clock.Since(s.clock, s.checked) > checkFullEvery
		s.mu.Unlock()
		if stale {
			s.check()
		}
		if s.refusing() && (!shrinks || s.critical.Load() || s.waiting.Load() > 0) {
			return s.refusal()
		}
	}
	pending := s.pending.Add(bytes)
	if pending <= s.budget.Load() || shrinks {
		return nil
	}
	// Each pending byte takes space twice: in the WAL, and in a table before the WAL is removed.
	s.check()
	if 2*pending <= s.free.Load()-s.reserve.Load()/2 {
		return nil
	}
	s.pending.Add(-bytes)
	return s.refusal()
}

func (s *space) refusing() bool { return s.full.Load() || s.waiting.Load() > 0 }

// refusal returns the error of a refused commit.
func (s *space) refusal() error {
	return fmt.Errorf("%w: %d MiB are free, %d MiB are kept for what is under way", storage.ErrNoSpace,
		s.free.Load()>>20, max(s.reserve.Load()>>20, 1))
}

// why returns the reason why commits are refused, or "".
func (s *space) why() string {
	switch n := s.waiting.Load(); {
	case n > 0:
		return fmt.Sprintf("no space left on the disk: %d writes wait for it", n)
	case s.full.Load():
		return s.refusal().Error()
	}
	return ""
}
