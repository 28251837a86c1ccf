package pebble

import (
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

const (
	// largeBatch is from which size on a batch is let in alone. Pebble makes a memtable of it, and
	// takes some times its size to flush and compact it: several of them at once take more than any
	// budget foresees.
	largeBatch = 16 << 20
	// largeWait bounds how long the next large batch waits for the flush of the one before.
	largeWait = 10 * time.Second
	// compactionPoll is the time between two looks at what is compacted.
	compactionPoll = 5 * time.Millisecond
)

const (
	// largeCopies is how many copies of a large batch are in memory while it is written, flushed
	// and compacted: the batch, the blocks of the log, and a block of a table, plain and
	// compressed.
	largeCopies = 4
	// largeAge is how long compactions may work on a batch after it was flushed.
	largeAge = 10 * time.Second
	// maxBeside is the most that Beside returns.
	maxBeside = 128 << 20
)

// largeBatches lets large batches in one after the other, and remembers the largest of late.
type largeBatches struct {
	// turn is full while a large batch is not flushed.
	turn chan struct{}
	// small says that the store has a small memory budget.
	small bool

	mu   sync.Mutex
	size int64
	at   time.Time
}

// admit waits until the large batch before is flushed, and in a small store compacted. The caller
// calls done after it has applied its own.
func (l *largeBatches) admit(db *pebble.DB, size int) (done func()) {
	if size < largeBatch {
		return func() {}
	}
	l.turn <- struct{}{}
	if l.small && l.beside(time.Now()) > 0 {
		awaitCompactions(db, largeWait)
	}
	l.note(size, time.Now())
	return func() {
		flushed, err := db.AsyncFlush()
		if err != nil {
			<-l.turn
			return
		}
		go func() {
			select {
			case <-flushed:
			case <-time.After(largeWait):
			}
			<-l.turn
		}()
	}
}

// awaitCompactions waits until no compaction runs, but no longer than most. A compaction of large
// documents takes as much memory as the next batch and its flush.
func awaitCompactions(db *pebble.DB, most time.Duration) {
	end := time.Now().Add(most)
	for db.Metrics().Compact.NumInProgress > 0 && time.Now().Before(end) {
		time.Sleep(compactionPoll)
	}
}

func (l *largeBatches) note(size int, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if int64(size) >= l.size || now.Sub(l.at) > largeAge {
		l.size, l.at = int64(size), now
	}
}

func (l *largeBatches) beside(now time.Time) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Sub(l.at) > largeAge {
		return 0
	}
	return min(l.size*largeCopies, maxBeside)
}

// Beside estimates how many bytes the store takes above its budget while it writes, flushes and
// compacts large documents. It is 0 if there were none in the last 10 seconds.
func (e *Engine) Beside() int64 { return e.large.beside(time.Now()) }
