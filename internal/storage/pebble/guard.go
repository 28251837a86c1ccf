package pebble

import (
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/sheafdb/sheaf/internal/clock"
	"github.com/sheafdb/sheaf/internal/storage"
)

// guard decides whether commits are accepted and whether the WAL is synced. An engine and its
// diskFS share it.
type guard struct {
	log *slog.Logger
	// durable counts the commits that wait for an fsync; see diskFS.
	durable atomic.Int64
	fsyncs  atomic.Int64
	// failed is the error that froze the store.
	failed atomic.Pointer[error]
	// open means that the engine is open. From then on, writes of the WAL wait for space.
	open atomic.Bool
	// closing means that the engine is being closed. From then on nothing waits for space.
	closing atomic.Bool
	// flushErrors counts the flushes that failed in a row.
	flushErrors atomic.Int64
	// flushError is the error of the last flush that failed.
	flushError atomic.Pointer[error]
	space      space
}

// maxFlushErrors is how many flushes may fail in a row before commits are refused. Pebble retries
// for ever, and makes commits wait when there are several memtables.
const maxFlushErrors = 3

// newGuard returns a guard that reads the free space with usage.
func newGuard(log *slog.Logger, c clock.Clock, usage func() (vfs.DiskUsage, error), reserve int64) *guard {
	g := &guard{log: log}
	g.space.start(log, c, usage, reserve)
	return g
}

// close stops the checks of free space.
func (g *guard) close() { g.space.close() }

// fail freezes the store permanently.
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

// admit decides whether a change of this many bytes may be written. shrinks means that it deletes
// more than it adds. If admit returns no error, the caller must call done.
func (g *guard) admit(bytes int64, shrinks bool) error {
	if g.failed.Load() != nil {
		return g.failure()
	}
	if g.flushErrors.Load() >= maxFlushErrors {
		return g.flushFailure()
	}
	return g.space.admit(bytes, shrinks)
}

// done ends the change that admit admitted.
func (g *guard) done(bytes int64) { g.space.pending.Add(-bytes) }

// flushed records the result of a flush. Pebble reports an error if all keys were deleted again, so
// that there is no table to write.
func (g *guard) flushed(err error) {
	if err == nil || strings.Contains(err.Error(), "empty table") {
		g.flushErrors.Store(0)
		return
	}
	g.flushError.Store(&err)
	g.flushErrors.Add(1)
}

// flushFailure returns the error of a commit that is refused because flushes fail.
func (g *guard) flushFailure() error {
	cause := storage.ErrFailed
	err := *g.flushError.Load()
	if isNoSpace(err) {
		cause = storage.ErrNoSpace
	}
	return fmt.Errorf("%w: tables cannot be written, it is tried again: %w", cause, err)
}

// stopped returns the reason why no writes are accepted, or "".
func (g *guard) stopped() string {
	if err := g.failure(); err != nil {
		return err.Error()
	}
	if g.flushErrors.Load() >= maxFlushErrors {
		return g.flushFailure().Error()
	}
	return g.space.why()
}
