package pebble

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"github.com/cockroachdb/pebble/v2"
)

// compactor compacts deleted ranges in the background, one after another.
type compactor struct {
	db     *pebble.DB
	log    *slog.Logger
	ctx    context.Context
	cancel context.CancelFunc

	mu      sync.Mutex
	ranges  []keyRange
	running sync.WaitGroup
	active  bool
}

type keyRange struct{ start, end []byte }

func newCompactor(db *pebble.DB, log *slog.Logger) *compactor {
	c := &compactor{db: db, log: log}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c
}

// add requests the compaction of a range. The caller must not change start and end afterwards.
func (c *compactor) add(start, end []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx.Err() != nil {
		return
	}
	c.ranges = append(c.ranges, keyRange{start, end})
	if !c.active {
		c.active = true
		c.running.Add(1)
		go c.run()
	}
}

// run compacts ranges until none is left.
func (c *compactor) run() {
	defer c.running.Done()
	for {
		c.mu.Lock()
		if len(c.ranges) == 0 || c.ctx.Err() != nil {
			c.active = false
			c.mu.Unlock()
			return
		}
		r := c.ranges[0]
		c.ranges = c.ranges[1:]
		c.mu.Unlock()
		if err := c.db.Compact(c.ctx, r.start, r.end, false); err != nil && !errors.Is(err, context.Canceled) {
			c.log.Warn("storage: compacting a deleted range", "error", err)
		}
	}
}

// close stops the current compaction and waits until the goroutine has ended.
func (c *compactor) close() {
	c.mu.Lock()
	c.cancel()
	c.mu.Unlock()
	c.running.Wait()
}
