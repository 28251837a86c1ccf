package pebble

import "time"

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
