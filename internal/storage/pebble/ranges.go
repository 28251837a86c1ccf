package pebble

import (
	"bytes"

	"github.com/cockroachdb/pebble/v2"

	"github.com/sheafdb/sheaf/internal/storage"
)

// compactAbove is the size of a deleted range from which its space is reclaimed immediately. The
// space of smaller ranges is reclaimed by the compactions that happen anyway.
const compactAbove = 8 << 20

// DeleteRange implements storage.Engine. It is allowed while the disk is nearly full, because it
// frees space.
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
		// A failed estimate must not prevent the deletion.
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
