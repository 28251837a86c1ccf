package changelog

import (
	"errors"
	"log/slog"
	"time"

	"github.com/sheafdb/sheaf/internal/clock"
	"github.com/sheafdb/sheaf/internal/storage"
)

// trimSlack determines how much a trim removes beyond the limit: size/trimSlack bytes, so that the
// next trim is not due immediately.
const trimSlack = 16

// retainEvery is the interval of the checks for entries whose retention has ended.
const retainEvery = 10 * time.Second

// Retention returns the age up to which entries are kept even beyond the size limit.
func (l *Log) Retention() time.Duration { return time.Duration(l.retention.Load()) }

// Resized sets the retention. It is also called after the size limit has changed.
func (l *Log) Resized(retention time.Duration) {
	l.retention.Store(int64(retention))
	l.wake()
}

// Trimmed returns the stamp up to which entries may have been removed since the store was opened.
func (l *Log) Trimmed() storage.Stamp { return storage.Stamp(l.trimmed.Load()) }

// excess returns the size limit and the number of bytes beyond it. ok is false if the oplog does
// not exceed the limit.
func (l *Log) excess() (size, excess int64, ok bool, err error) {
	size, ok = l.size()
	if !ok {
		return 0, 0, false, nil
	}
	counter, err := l.engine.Counter(l.counter)
	excess = counter.Bytes - size
	return size, excess, excess > 0, err
}

// Grown is called after a commit that has added entries. It wakes Trim if the oplog exceeds its
// size limit.
func (l *Log) Grown() {
	if _, _, ok, err := l.excess(); err == nil && ok {
		l.wake()
	}
}

// Trim removes the oldest entries when the oplog exceeds its limit, until stop is closed.
func (l *Log) Trim(stop <-chan struct{}, logger *slog.Logger) {
	var from []byte
	ticks, done := clock.NewTicker(l.clock, retainEvery)
	defer done()
	for {
		select {
		case <-stop:
			return
		case <-l.full:
		case <-ticks:
		}
		var err error
		if from, err = l.trimOnce(stop, from); err != nil && !errors.Is(err, storage.ErrClosed) {
			logger.Warn("the log of changes cannot be trimmed", "error", err)
		}
	}
}

// trimOnce removes the oldest entries if the oplog exceeds its limit. from is a key before which
// there are no entries, or nil. trimOnce returns the next such key.
func (l *Log) trimOnce(stop <-chan struct{}, from []byte) ([]byte, error) {
	size, excess, ok, err := l.excess()
	if err != nil || !ok {
		return from, err
	}
	if from == nil {
		from = l.records
	}
	end, removed, err := l.oldest(stop, from, excess+size/trimSlack)
	if err != nil || removed.Count == 0 {
		return from, err
	}
	// The entries are removed before the counter is lowered. After a crash in between, the counter
	// is too large, so the oplog stays a little below its limit.
	l.trimmed.Store(uint64(stampOf(end[:len(end)-1])))
	if err := l.engine.DeleteRange(from, end); err != nil {
		return from, err
	}
	txn := l.engine.Begin()
	defer txn.Rollback()
	if err := l.Count(txn, storage.Counter{Count: -removed.Count, Bytes: -removed.Bytes}); err != nil {
		return end, err
	}
	return end, txn.Commit(storage.Buffered)
}

// oldest counts the oldest entries with a total of size bytes. It returns the key after them. It
// leaves out the newest entry and entries within the retention.
func (l *Log) oldest(stop <-chan struct{}, from []byte, size int64) (end []byte, n storage.Counter, err error) {
	young := storage.NewStamp(uint32(l.clock.Now().Add(-l.Retention()).Unix()), 0)
	if l.Retention() == 0 {
		young = l.order.Visible()
	}
	snap := l.engine.NewSnapshot()
	defer snap.Close()
	it, err := snap.NewIter(from, l.Key(nil, young))
	if err != nil {
		return nil, n, err
	}
	defer it.Close()
	for ok := it.First(); ok && n.Bytes < size; ok = it.Next() {
		if n.Count%1024 == 0 {
			select {
			case <-stop:
				return nil, n, storage.ErrClosed
			default:
			}
		}
		value, err := it.Value()
		if err != nil {
			return nil, n, err
		}
		n.Count++
		n.Bytes += int64(len(value))
		end = append(end[:0], it.Key()...)
	}
	return append(end, 0), n, it.Err()
}
