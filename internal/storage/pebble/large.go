package pebble

import (
	"sync"
	"time"
)

const (
	// largeBatch is from which size on a batch is let in alone. Pebble makes a memtable of it, and takes some times its size to
	// flush and compact it: several of them at once take more than any budget foresees.
	largeBatch = 16 << 20
	// largeWait bounds how long the next large batch waits for the flush of the one before.
	largeWait = 10 * time.Second
	// compactionPoll is the time between two looks at what is compacted.
	compactionPoll = 5 * time.Millisecond
)

// admitLarge waits until the large batch before is flushed, and in a small store compacted. The
// caller calls done after it has applied its own.
func (e *Engine) admitLarge(size int) (done func()) {
	if size < largeBatch {
		return func() {}
	}
	e.large <- struct{}{}
	if e.options.isSmall() && e.Beside() > 0 {
		e.awaitCompactions(largeWait)
	}
	e.largest.note(size, time.Now())
	return func() {
		flushed, err := e.db.AsyncFlush()
		if err != nil {
			<-e.large
			return
		}
		go func() {
			select {
			case <-flushed:
			case <-time.After(largeWait):
			}
			<-e.large
		}()
	}
}

// awaitCompactions waits until no compaction runs, but no longer than most. A compaction of large
// documents takes as much memory as the next batch and its flush.
func (e *Engine) awaitCompactions(most time.Duration) {
	end := time.Now().Add(most)
	for e.db.Metrics().Compact.NumInProgress > 0 && time.Now().Before(end) {
		time.Sleep(compactionPoll)
	}
}

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

// largest is the largest batch of late.
type largest struct {
	mu   sync.Mutex
	size int64
	at   time.Time
}

func (l *largest) note(size int, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if int64(size) >= l.size || now.Sub(l.at) > largeAge {
		l.size, l.at = int64(size), now
	}
}

func (l *largest) beside(now time.Time) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Sub(l.at) > largeAge {
		return 0
	}
	return min(l.size*largeCopies, maxBeside)
}

// Beside estimates how many bytes the store takes above its budget while it writes, flushes and
// compacts large documents. It is 0 if there were none in the last 10 seconds.
func (e *Engine) Beside() int64 { return e.largest.beside(time.Now()) }
