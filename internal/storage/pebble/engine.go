package pebble

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"

	"github.com/sheafdb/sheaf/internal/clock"
	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/storage/lock"
)

// Engine implements storage.Engine.
type Engine struct {
	large      largeBatches
	dir        string
	options    Options
	fs         *diskFS
	guard      *guard
	lockFile   *dirLock
	db         *pebble.DB
	pebbleOpts *pebble.Options
	locks      *lock.Table
	history    lock.History
	order      storage.Order
	unsynced   unsynced
	counters   counters
	records    *records
	blocks     blocks
	gaps       gaps
	unflushed  unflushed
	flushes    flushes
	longKeys   longKeys
	background *compactor
	pins       pins

	states sync.Pool
	// state numbers the states that can be read. It grows when a change is visible, before the
	// locks of the change are released and its call returns. A caller that reads the number and
	// then the store sees all changes up to that number.
	state atomic.Uint64

	commitsDurable  atomic.Int64
	commitsBuffered atomic.Int64
	conflicts       atomic.Int64
	snapshots       atomic.Int64
	anchor          anchor
	txns            atomic.Int64
	// backgroundErrors counts the failures of flushes and compactions.
	backgroundErrors atomic.Int64
}

var _ storage.Engine = (*Engine)(nil)

// nopCloser is the Closer of a value that needs no release.
type nopCloser struct{}

func (nopCloser) Close() error { return nil }

// valueCloser ends the loan of a value that Get returned. It returns to a pool, so Close must be
// called only once.
type valueCloser struct {
	engine *Engine
	inner  io.Closer
	pin    pin
}

var valueClosers = sync.Pool{New: func() any { return new(valueCloser) }}

// Close implements io.Closer.
func (c *valueCloser) Close() error {
	if c.inner == nil {
		return nil
	}
	err := c.inner.Close()
	c.engine.pins.release(c.pin)
	c.inner = nil
	valueClosers.Put(c)
	return err
}

// getter is the part of Pebble that reads single keys.
type getter interface {
	Get(key []byte) ([]byte, io.Closer, error)
}

// Get implements storage.Engine.
func (e *Engine) Get(key []byte) ([]byte, io.Closer, error) {
	p, ok := e.pins.acquire()
	if !ok {
		return nil, nil, storage.ErrClosed
	}
	return e.getKept(e.db, key, e.records.now(), p)
}

// getKept reads a key through the record cache. from is a view that was taken at epoch. The pin is
// released with the value.
func (e *Engine) getKept(from getter, key []byte, epoch uint64, p pin) ([]byte, io.Closer, error) {
	if !e.records.keeps(key) {
		return e.get(from, key, p)
	}
	hash := e.locks.Hash(key)
	if value, ok := e.records.get(hash, key, epoch); ok {
		e.pins.release(p)
		return value, nopCloser{}, nil
	}
	value, closer, err := e.get(from, key, p)
	if err == nil {
		e.records.add(hash, key, value, epoch)
	}
	return value, closer, err
}

// get reads a key. The pin is released with the value.
func (e *Engine) get(from getter, key []byte, p pin) ([]byte, io.Closer, error) {
	value, inner, err := from.Get(key)
	if err != nil {
		e.pins.release(p)
		return nil, nil, e.wrap(err)
	}
	c := valueClosers.Get().(*valueCloser)
	c.engine, c.inner, c.pin = e, inner, p
	return value, c, nil
}

// NewSnapshot implements storage.Engine.
func (e *Engine) NewSnapshot() storage.Snapshot {
	s := &snapshot{engine: e}
	if p, ok := e.pins.acquire(); ok {
		e.anchor.hold(e)
		s.epoch, s.state = e.records.now(), e.state.Load()
		s.inner = e.db.NewSnapshot()
		e.snapshots.Add(1)
		e.pins.release(p)
	}
	return s
}

// Checkpoint implements storage.Engine.
func (e *Engine) Checkpoint(dir string) (err error) {
	p, ok := e.pins.acquire()
	if !ok {
		return storage.ErrClosed
	}
	defer e.pins.release(p)
	if err := e.guard.failure(); err != nil {
		return err
	}
	defer e.contain(&err)
	if dir != "" {
		return e.checkpointTo(dir)
	}
	if err := e.syncWAL(); err != nil {
		return err
	}
	return nil
}

// syncWAL makes all commits durable.
func (e *Engine) syncWAL() error {
	e.guard.durable.Add(1)
	defer e.guard.durable.Add(-1)
	if err := e.db.LogData(e.fs.points.appendMark(nil), pebble.Sync); err != nil {
		return e.wrap(err)
	}
	return e.guard.failure()
}

func (e *Engine) checkpointTo(dir string) error {
	if err := e.guard.admit(smallWrite, false); err != nil {
		return err
	}
	defer e.guard.done(smallWrite)
	if !e.fs.seals.used.Load() {
		// Pebble copies the manifest that it writes. If nothing was written since the store was
		// opened, it would copy no manifest.
		if err := e.db.Flush(); err != nil {
			return e.wrap(err)
		}
	}
	e.guard.durable.Add(1)
	err := e.db.Checkpoint(dir, pebble.WithFlushedWAL())
	e.guard.durable.Add(-1)
	if err != nil {
		return e.wrap(err)
	}
	if err := e.guard.failure(); err != nil {
		return err
	}
	if err := sealCopy(e.options.FS, dir); err != nil {
		return err
	}
	if err := noteCopiedLogs(e.options.FS, dir); err != nil {
		return err
	}
	// The format file makes the copy a store. It is written last, so an interrupted copy is not a
	// store.
	return writeFormat(e.options.FS, dir)
}

// Close implements storage.Engine.
func (e *Engine) Close() error {
	if !e.pins.close() {
		return storage.ErrClosed
	}
	e.guard.closing.Store(true)
	e.locks.Close()
	e.background.close()
	late, timer := clock.NewTimer(e.options.Clock, e.options.closeGrace)
	defer timer.Stop()
	if e.pins.wait(late) {
		return e.finish()
	}
	// Closing Pebble under an open iterator would free the iterator's memory. So all commits are
	// made durable now. The goroutine closes Pebble when the last pin is released.
	err := e.durableNow()
	go func() {
		e.pins.wait(nil)
		if err := e.finish(); err != nil {
			e.options.Logger.Error("storage: late close", "error", err)
		}
	}()
	return errors.Join(err, fmt.Errorf("storage/pebble: %s: %d iterators or borrowed values were not closed; the store "+
		"stays locked until they are", e.dir, e.pins.count()))
}

// durableNow makes all commits durable while the store is being closed.
func (e *Engine) durableNow() (err error) {
	if err := e.guard.failure(); err != nil {
		return err
	}
	defer e.contain(&err)
	return e.syncWAL()
}

// flush writes the data that is only in the logs to tables, so that a closed store cannot lose a
// log. If tables cannot be written, the logs keep the data.
func (e *Engine) flush() {
	if e.db.Metrics().WAL.Size == 0 || e.guard.failure() != nil || e.guard.space.full.Load() {
		return
	}
	failed := e.backgroundErrors.Load()
	done, err := e.db.AsyncFlush()
	if err != nil {
		return
	}
	ticks, stop := clock.NewTicker(clock.Computer, retryDelay) // see pause
	defer stop()
	for {
		select {
		case <-done:
			return
		case <-ticks:
			if e.guard.failure() != nil || e.backgroundErrors.Load() != failed {
				return
			}
		}
	}
}

// finish closes Pebble. The caller has waited until all pins are released.
func (e *Engine) finish() (err error) {
	defer func() {
		e.guard.close()
		err = errors.Join(err, e.fs.seals.file.Close(), e.fs.points.close(), e.fs.tableIDs.close(), e.lockFile.Close())
	}()
	defer e.contain(&err)
	e.guard.durable.Add(1)
	defer e.guard.durable.Add(-1)
	e.anchor.release(e)
	e.flush()
	open := e.snapshots.Load()
	err = e.db.Close()
	e.blocks.cache.Unref()
	if failure := e.guard.failure(); failure != nil {
		return failure
	}
	if open > 0 {
		return fmt.Errorf("storage/pebble: %s: %d snapshots were not closed", e.dir, open)
	}
	return e.wrap(err)
}

// wrap classifies an error of Pebble by its cause.
func (e *Engine) wrap(err error) error { return sortError(e.dir, err) }

// contain turns a panic with which Pebble gives up a write into an error, and stops further writes.
// It passes other panics on.
func (e *Engine) contain(err *error) {
	r := recover()
	if r == nil {
		return
	}
	cause, ok := r.(error)
	if !ok {
		panic(r)
	}
	var fatal fatalError
	if !errors.As(cause, &fatal) && e.guard.failure() == nil {
		panic(r)
	}
	e.guard.fail(cause)
	*err = e.guard.failure()
}

// Sync implements storage.Engine.
func (e *Engine) Sync() (err error) {
	if !e.unsynced.waiting() {
		return e.guard.failure()
	}
	p, ok := e.pins.acquire()
	if !ok {
		return storage.ErrClosed
	}
	defer e.pins.release(p)
	defer e.contain(&err)
	return e.syncWAL()
}

// Durable implements storage.Engine.
func (e *Engine) Durable() storage.Stamp {
	// A Buffered commit is added to unsynced before its stamp becomes safe. So Safe must be read
	// before unsynced.
	durable := e.order.Safe()
	u := &e.unsynced
	u.mu.Lock()
	defer u.mu.Unlock()
	if s := least(u.buffered, u.syncingBuffered); s != 0 {
		durable = min(durable, s-1)
	}
	return durable
}
