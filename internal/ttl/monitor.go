package ttl

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/clock"
	"github.com/sheafdb/sheaf/internal/table"
	"github.com/sheafdb/sheaf/internal/write"
)

// DefaultSleep is how long the monitor rests between two passes.
const DefaultSleep = 60 * time.Second

const (
	// batchDocs is the number of records of a target that the monitor checks before it pauses and
	// checks the time.
	batchDocs = 128
	// maxTurnDocs and turnTime limit a target's turn in a sub-pass, like mongod's
	// ttlIndexDeleteTargetDocs and ttlIndexDeleteTargetTimeMS.
	maxTurnDocs = 50_000
	turnTime    = time.Second
	// maxRest is the longest pause after a batch. A shorter batch is followed by a pause of its own
	// length.
	maxRest = 100 * time.Millisecond
)

// target is a set of documents of one collection with one expiry rule, and the position of the
// current pass in this set.
type target struct {
	scan
	name string // name of the index with the expiry rule, for the log
}

// Guard allows a batch to begin, or returns an error. The caller calls leave after the batch.
type Guard func(ctx context.Context) (leave func(), err error)

// Stats are the counters in metrics.ttl of serverStatus.
type Stats struct{ Deleted, Passes, SubPasses, Invalid int64 }

// Monitor removes expired documents. Its methods are safe for concurrent use, except that only one
// Pass or Run may run at a time.
type Monitor struct {
	store  *table.Store
	writes *write.Executor
	clock  clock.Clock
	log    *slog.Logger
	guard  Guard
	// turnDocs is the number of records that a target checks in one turn.
	turnDocs int

	sleep    atomic.Int64 // seconds
	disabled atomic.Bool
	changed  chan struct{} // has one element after a change of sleep

	deleted, passes, subPasses, invalid atomic.Int64
}

// New returns a monitor of a store.
func New(store *table.Store, writes *write.Executor, c clock.Clock, log *slog.Logger) *Monitor {
	m := &Monitor{
		store: store, writes: writes, clock: c, log: log, turnDocs: maxTurnDocs,
		changed: make(chan struct{}, 1),
	}
	m.sleep.Store(int64(DefaultSleep / time.Second))
	return m
}

// SetSleep changes the pause between two passes, in seconds. The current pause starts again.
func (m *Monitor) SetSleep(seconds int64) {
	m.sleep.Store(seconds)
	select {
	case m.changed <- struct{}{}:
	default:
	}
}

// SetEnabled enables the monitor, or stops it after the current batch.
func (m *Monitor) SetEnabled(enabled bool) { m.disabled.Store(!enabled) }

// Guard sets the guard that the monitor calls before each batch. Call it before Run.
func (m *Monitor) Guard(g Guard) { m.guard = g }

// Stats returns the counters.
func (m *Monitor) Stats() Stats {
	return Stats{
		Deleted: m.deleted.Load(), Passes: m.passes.Load(), SubPasses: m.subPasses.Load(), Invalid: m.invalid.Load(),
	}
}

// Run makes passes until ctx ends.
func (m *Monitor) Run(ctx context.Context) {
	for {
		due, timer := clock.NewTimer(m.clock, time.Duration(m.sleep.Load())*time.Second)
		select {
		case <-due:
			m.Pass(ctx)
		case <-m.changed:
			timer.Stop()
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}

// Pass removes the documents that have expired by now.
func (m *Monitor) Pass(ctx context.Context) {
	if m.disabled.Load() {
		return
	}
	for targets := m.targets(m.clock.Now()); ; {
		m.subPasses.Add(1)
		targets = slices.DeleteFunc(targets, func(t *target) bool { return !m.turn(ctx, t) })
		if len(targets) == 0 {
			break
		}
	}
	m.passes.Add(1)
}

// targets returns the targets of all collections.
func (m *Monitor) targets(now time.Time) (out []*target) {
	for _, entry := range m.store.Catalog().All() {
		c := entry.Attached
		if c == nil || c.Kind != catalog.KindCollection {
			continue
		}
		find := m.ofIndexes
		if c.Timeseries != nil {
			find = m.ofBuckets
		}
		targets, err := find(c, now)
		if err != nil {
			m.report(c, "", err)
		}
		out = append(out, targets...)
	}
	return out
}

// turn removes documents of a target for a limited time. It reports whether there may be more.
func (m *Monitor) turn(ctx context.Context, t *target) (more bool) {
	begin := m.clock.Now()
	for seen := 0; seen < m.turnDocs; seen += batchDocs {
		if ctx.Err() != nil || m.disabled.Load() {
			return false
		}
		start := m.clock.Now()
		n, more, err := m.batch(ctx, t)
		m.deleted.Add(int64(n))
		if err != nil && !errors.Is(err, table.ErrDropped) { // after ErrDropped, the next pass uses the new rule
			m.report(t.coll, t.name, err)
		}
		if err != nil || !more {
			return false
		}
		end := m.clock.Now()
		if end.Sub(begin) > turnTime {
			return true
		}
		_ = clock.Sleep(ctx, m.clock, min(end.Sub(start), maxRest)) // the loop sees that ctx ended
	}
	return true
}

func (m *Monitor) batch(ctx context.Context, t *target) (deleted int, more bool, err error) {
	if m.guard != nil {
		leave, err := m.guard(ctx)
		if err != nil {
			return 0, false, err
		}
		defer leave()
	}
	return t.delete(ctx, batchDocs)
}

func (m *Monitor) report(c *table.Collection, name string, err error) {
	if errors.Is(err, context.Canceled) {
		return
	}
	m.log.Warn("Expired documents could not be removed", "c", "INDEX", "ns", c.Namespace(), "index", name, "error", err)
}
