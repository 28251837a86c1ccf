package pebble

import (
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/sheafdb/sheaf/internal/storage"
)

const (
	// checkEvery is how often free space is looked at, besides after every few megabytes written.
	checkEvery = time.Second
	// checkFullEvery is how often a refused commit looks at it again.
	checkFullEvery = 50 * time.Millisecond
	// maxStep is after how many bytes written free space is looked at again at the latest.
	maxStep = 16 << 20
	// smallWrite is how many bytes a transaction that deletes may put, to pass while the disk is nearly full.
	smallWrite = 1 << 10
)

// guard decides whether commits are taken and whether the WAL is synced. It is shared by an engine and its diskFS.
type guard struct {
	log *slog.Logger
	// durable counts the commits that wait for an fsync; see diskFS.
	durable atomic.Int64
	fsyncs  atomic.Int64
	// failed is the error that froze the store.
	failed atomic.Pointer[error]
	// open means that the engine is open: from then on, writes of the WAL wait for space.
	open atomic.Bool

	usage   func() (vfs.DiskUsage, error)
	reserve int64
	// budget is how many bytes may be written before free space is looked at again.
	budget atomic.Int64
	// full means that commits are refused, critical that those which shrink the store are refused too.
	full, critical atomic.Bool

	mu      sync.Mutex
	checked time.Time
	stop    chan struct{}
	stopped chan struct{}
}

// newGuard returns a guard that looks at free space with usage.
func newGuard(log *slog.Logger, usage func() (vfs.DiskUsage, error), reserve int64) *guard {
	g := &guard{log: log, usage: usage, reserve: reserve, stop: make(chan struct{}), stopped: make(chan struct{})}
	if u, err := usage(); err == nil && reserve > 0 {
		// On a disk of 64 MiB a reserve of 64 MiB would leave nothing.
		g.reserve = min(reserve, int64(u.TotalBytes/8))
	}
	g.check()
	go g.watch()
	return g
}

// watch looks at free space from time to time, since other programs use the disk too.
func (g *guard) watch() {
	defer close(g.stopped)
	if g.reserve <= 0 {
		return
	}
	ticker := time.NewTicker(checkEvery)
	defer ticker.Stop()
	for {
		select {
		case <-g.stop:
			return
		case <-ticker.C:
			g.check()
		}
	}
}

// close ends watch.
func (g *guard) close() {
	close(g.stop)
	<-g.stopped
}

// check looks at free space. Space counts as back only when there is a quarter more than the reserve.
func (g *guard) check() {
	if g.reserve <= 0 {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.checked = time.Now()
	usage, err := g.usage()
	if err != nil {
		// A file system that cannot tell, such as one in memory, is never full.
		g.budget.Store(maxStep)
		return
	}
	free := int64(min(usage.AvailBytes, 1<<62))
	g.budget.Store(max(min(maxStep, (free-g.reserve)/4), 64<<10))
	g.critical.Store(free < g.reserve/4)
	was := g.full.Load()
	switch {
	case free < g.reserve:
		g.full.Store(true)
	case free >= g.reserve+g.reserve/4:
		g.full.Store(false)
	}
	if is := g.full.Load(); is != was {
		g.log.Warn("storage: free space", "refusingWrites", is, "freeBytes", free, "reserveBytes", g.reserve)
	}
}

// noSpace notes that the file system had no space.
func (g *guard) noSpace() {
	if g.reserve > 0 {
		g.full.Store(true)
	}
}

// written counts bytes that went to the disk.
func (g *guard) written(n int) {
	if n > 0 && g.budget.Add(-int64(n)) < 0 {
		g.check()
	}
}

// fail freezes the store for good.
func (g *guard) fail(err error) {
	wrapped := fmt.Errorf("%w: %w", storage.ErrFailed, err)
	if g.failed.CompareAndSwap(nil, &wrapped) {
		g.log.Error("storage: a write failed, the store takes no more writes until it is opened again", "error", err)
	}
}

// failure returns the error that froze the store, or nil.
func (g *guard) failure() error {
	if p := g.failed.Load(); p != nil {
		return *p
	}
	return nil
}

// admit decides whether a change may go to the disk. shrinks says that it deletes more than it adds.
func (g *guard) admit(shrinks bool) error {
	if g.failed.Load() != nil {
		return g.failure()
	}
	if !g.full.Load() {
		return nil
	}
	g.mu.Lock()
	stale := time.Since(g.checked) > checkFullEvery
	g.mu.Unlock()
	if stale {
		g.check()
	}
	if !g.full.Load() || shrinks && !g.critical.Load() {
		return nil
	}
	return fmt.Errorf("%w: less than %d MiB are free", storage.ErrNoSpace, max(g.reserve>>20, 1))
}
