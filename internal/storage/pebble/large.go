package pebble

import (
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/sheafdb/sheaf/internal/clock"
)

const (
	// largeBatch is the size from which a batch is applied alone. Pebble makes a memtable of such a
	// batch, and needs a multiple of its size to flush and compact it. Several large batches at the
	// same time would exceed any memory budget.
	largeBatch = 16 << 20
	// largeWait is how long the next large batch waits at most for the flush of the previous one.
	largeWait = 10 * time.Second
	// compactionPoll is the interval at which running compactions are checked.
	compactionPoll = 5 * time.Millisecond
)

const (
	// largeCopies is the number of copies of a large batch in memory while it is written, flushed
	// and compacted: the batch, the blocks of the log, and a block of a table, uncompressed and
	// compressed.
	largeCopies = 4
	// largeAge is the time after the flush of a batch in which compactions may still work on it.
	largeAge = 10 * time.Second
	// maxBeside is the largest result of Beside.
	maxBeside = 128 << 20
)

// largeBatches admits large batches one after another, and remembers the largest recent one.
type largeBatches struct {
	// turn is full while a large batch waits for its flush.
	turn chan struct{}
	// small means that the store has a small memory budget.
	small bool
	clock clock.Clock

	mu   sync.Mutex
	size int64
	at   time.Time
}

// admit waits until the previous large batch is flushed and, in a small store, compacted. The
// caller applies its own batch and then calls done.
func (l *largeBatches) admit(db *pebble.DB, size int) (done func()) {
	if size < largeBatch {
		return func() {}
	}
	l.turn <- struct{}{}
	if l.small && l.beside() > 0 {
		l.awaitCompactions(db)
	}
	l.note(size)
	return func() {
		flushed, err := db.AsyncFlush()
		if err != nil {
			<-l.turn
			return
		}
		late, timer := clock.NewTimer(l.clock, largeWait)
		go func() {
			defer timer.Stop()
			select {
			case <-flushed:
			case <-late:
			}
			<-l.turn
		}()
	}
}

// awaitCompactions waits until no compaction runs, but at most for largeWait. A compaction of large
// documents takes as much memory as the next batch and its flush.
func (l *largeBatches) awaitCompactions(db *pebble.DB) {
	late, timer := clock.NewTimer(l.clock, largeWait)
	defer timer.Stop()
	for db.Metrics().Compact.NumInProgress > 0 {
		select {
		case <-late:
			return
		default:
			pause(compactionPoll)
		}
	}
}

// note records that a large batch is applied now.
func (l *largeBatches) note(size int) {
	now := l.clock.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if int64(size) >= l.size || now.Sub(l.at) > largeAge {
		l.size, l.at = int64(size), now
	}
}

// beside returns the result of Engine.Beside.
func (l *largeBatches) beside() int64 {
	now := l.clock.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Sub(l.at) > largeAge {
		return 0
	}
	return min(l.size*largeCopies, maxBeside)
}

// Beside estimates how many bytes the store takes above its budget while it writes, flushes and
// compacts large documents. It is 0 if there were no large batches in the last 10 seconds.
func (e *Engine) Beside() int64 { return e.large.beside() }
