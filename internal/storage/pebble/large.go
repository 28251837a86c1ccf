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
)

// admitLarge waits until the large batch before is flushed. The caller calls done after it has applied its own.
func (e *Engine) admitLarge(size int) (done func()) {
	if size < largeBatch {
		return func() {}
	}
	e.large <- struct{}{}
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

const (
	// largeCopies is how often a large batch is in memory while it is written, flushed and compacted: the
	// batch, the log's blocks, and the value and the block, plain and compressed, of a table.
	largeCopies = 4
	// largeAge is for how long compactions may work on a batch that was flushed.
	largeAge = 10 * time.Second
	// maxBeside bounds what large batches are said to take.
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

// Beside estimates the memory that large documents take beside the budget while they are written,
// flushed and compacted; 0 where there were none for a while.
func (e *Engine) Beside() int64 { return e.largest.beside(time.Now()) }
