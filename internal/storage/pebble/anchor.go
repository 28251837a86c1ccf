package pebble

import (
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/sheafdb/sheaf/internal/clock"
)

// anchorAge is how long an anchor lives. It keeps old versions from compaction at most for this
// time.
const anchorAge = time.Second

// anchor is an open snapshot that nobody reads. When the oldest snapshot is closed, Pebble looks
// for compactions under its global lock, which costs more than a get. Each query opens and closes a
// snapshot. While the anchor is the oldest snapshot, Pebble looks for compactions once a second,
// not once a query.
type anchor struct {
	held  atomic.Bool
	inner atomic.Pointer[pebble.Snapshot]
}

// hold opens the snapshot of the anchor unless it is open. The snapshot is closed after anchorAge.
// The caller holds a pin.
func (a *anchor) hold(e *Engine) {
	if a.held.Load() || !a.held.CompareAndSwap(false, true) {
		return
	}
	a.inner.Store(e.db.NewSnapshot())
	clock.AfterFunc(e.options.Clock, anchorAge, func() {
		if p, ok := e.pins.acquire(); ok {
			a.release(e)
			e.pins.release(p)
		}
	})
}

// release closes the snapshot of the anchor.
func (a *anchor) release(e *Engine) {
	s := a.inner.Swap(nil)
	if s == nil {
		return
	}
	if err := s.Close(); err != nil {
		e.options.Logger.Error("storage: close of a snapshot", "error", err)
	}
	a.held.Store(false)
}
