package pebble

import (
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/sheafdb/sheaf/internal/storage"
)

// guard decides whether commits are taken and whether the WAL is synced. It is shared by an engine
// and its diskFS.
type guard struct {
	log *slog.Logger
	// durable counts the commits that wait for an fsync; see diskFS.
	durable atomic.Int64
	fsyncs  atomic.Int64
	// failed is the error that froze the store.
	failed atomic.Pointer[error]
	// open means that the engine is open: from then on, writes of the WAL wait for space.
	open atomic.Bool
	// closing means that the engine is being closed: nothing waits for space any more.
	closing atomic.Bool
	// flushErrors counts the flushes that failed one after the other; flushError is the last one's
	// error.
	flushErrors atomic.Int64
	flushError  atomic.Pointer[error]
	space       space
}

// maxFlushErrors is how many flushes may fail in a row before commits are refused. Pebble tries
// again for ever, and lets commits wait for it once there are some memtables.
const maxFlushErrors = 3

// newGuard returns a guard that looks at free space with usage.
func newGuard(log *slog.Logger, usage func() (vfs.DiskUsage, error), reserve int64) *guard {
	g := &guard{log: log}
	g.space.start(log, usage, reserve)
	return g
}

// close ends the look at free space.
func (g *guard) close() { g.space.close() }

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

// admit decides whether a change of so many bytes may go to the disk. shrinks says that it deletes
// more than it adds. Where there is no error, done must follow.
func (g *guard) admit(bytes int64, shrinks bool) error {
	if g.failed.Load() != nil {
		return g.failure()
	}
	if g.flushErrors.Load() >= maxFlushErrors {
		return g.flushFailure()
	}
	return g.space.admit(bytes, shrinks)
}

// done ends what admit began.
func (g *guard) done(bytes int64) { g.space.pending.Add(-bytes) }

// flushed notes how a flush ended. That all was deleted again, so that there is no table, is an
// error to Pebble.
func (g *guard) flushed(err error) {
	if err == nil || strings.Contains(err.Error(), "empty table") {
		g.flushErrors.Store(0)
		return
	}
	g.flushError.Store(&err)
	g.flushErrors.Add(1)
}

// flushFailure is the error of a commit that is refused since flushes fail.
func (g *guard) flushFailure() error {
	cause := storage.ErrFailed
	err := *g.flushError.Load()
	if isNoSpace(err) {
		cause = storage.ErrNoSpace
	}
	return fmt.Errorf("%w: tables cannot be written, it is tried again: %w", cause, err)
}

// stopped says why no writes are taken, "" where they are.
func (g *guard) stopped() string {
	if err := g.failure(); err != nil {
		return err.Error()
	}
	if g.flushErrors.Load() >= maxFlushErrors {
		return g.flushFailure().Error()
	}
	return g.space.why()
}
