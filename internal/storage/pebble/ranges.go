package pebble

import (
	"bytes"

	"github.com/cockroachdb/pebble/v2"

	"github.com/sheafdb/sheaf/internal/storage"
)

// compactAbove is how large a deleted range must be for its space to be fetched back at once. The
// space of smaller ones comes back with the compactions that happen anyway.
const compactAbove = 8 << 20

// DeleteRange implements storage.Engine. It is let through while the disk is nearly full, since it
// makes space.
func (e *Engine) DeleteRange(start, end []byte) (err error) {
	p, ok := e.pins.acquire()
	if !ok {
		return storage.ErrClosed
	}
	defer e.pins.release(p)
	if bytes.Compare(start, end) >= 0 {
		return nil
	}
	if err := e.guard.admit(smallWrite, true); err != nil {
		return err
	}
	defer e.guard.done(smallWrite)
	defer e.contain(&err)
	size, err := e.db.EstimateDiskUsage(start, end)
	if err != nil {
		// An estimate is no reason to keep the data.
		size = 0
	}
	if e.records.keeps(start) || e.records.keeps(end) {
		e.records.beginRange(start, end)
		defer e.records.endRange()
	}
	e.guard.durable.Add(1)
	err = e.db.DeleteRange(start, end, pebble.Sync)
	e.guard.durable.Add(-1)
	if err != nil {
		return e.wrap(err)
	}
	e.state.Add(1)
	e.counters.forgetRange(start, end)
	e.unflushed.forget(start, end)
	e.unflushed.newest().dropped.Add(int64(size))
	if size > compactAbove {
		e.background.add(bytes.Clone(start), bytes.Clone(end))
	}
	return e.guard.failure()
}
