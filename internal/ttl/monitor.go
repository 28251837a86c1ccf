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
	// batchDocs is how many records a target looks at before the monitor rests and looks at the
	// time.
	batchDocs = 128
	// maxTurnDocs and turnTime bound a target's turn in a sub-pass, as mongod's
	// ttlIndexDeleteTargetDocs and ttlIndexDeleteTargetTimeMS do.
	maxTurnDocs = 50_000
	turnTime    = time.Second
	// maxRest bounds the rest after a batch.
	maxRest = 100 * time.Millisecond
)

// target is a set of documents of one collection that expire, and how far a pass has come in it.
type target struct {
	scan
	name string // of the index that the rule belongs to, for the log
}

// Guard lets a batch begin; leave ends it.
type Guard func(ctx context.Context) (leave func(), err error)

// Stats is what serverStatus shows under metrics.ttl.
type Stats struct{ Deleted, Passes, SubPasses, Invalid int64 }

// Monitor removes expired documents. Its methods are safe for concurrent use, but for Pass and Run,
// of which one runs at a time.
type Monitor struct {
	store  *table.Store
	writes *write.Executor
	clock  clock.Clock
	log    *slog.Logger
	guard  Guard
	// turnDocs is how many records a target looks at in one turn.
	turnDocs int

	sleep    atomic.Int64 // seconds
	disabled atomic.Bool
	changed  chan struct{} // holds one element after a change of sleep

	deleted, passes, subPasses, invalid atomic.Int64
}

// New returns a monitor of a store.
func New(store *table.Store, writes *write.Executor, c clock.Clock, log *slog.Logger) *Monitor {
	m := &Monitor{store: store, writes: writes, clock: c, log: log, turnDocs: maxTurnDocs,
		changed: make(chan struct{}, 1)}
	m.sleep.Store(int64(DefaultSleep / time.Second))
	return m
}

// SetSleep changes how many seconds the monitor rests between two passes. The rest begins anew.
func (m *Monitor) SetSleep(seconds int64) {
	m.sleep.Store(seconds)
	select {
	case m.changed <- struct{}{}:
	default:
	}
}

// SetEnabled lets the monitor work, or ends its work after the batch under way.
func (m *Monitor) SetEnabled(enabled bool) { m.disabled.Store(!enabled) }

// Guard sets what the monitor asks before each batch. It is called before Run.
func (m *Monitor) Guard(g Guard) { m.guard = g }

// Stats returns the counters.
func (m *Monitor) Stats() Stats {
	return Stats{
		Deleted: m.deleted.Load(), Passes: m.passes.Load(), SubPasses: m.subPasses.Load(), Invalid: m.invalid.Load(),
	}
}

// Run makes a pass again and again until ctx ends.
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

// Pass removes what has expired by now.
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

// targets returns those of all collections.
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

// turn removes documents of a target for a while and reports whether there may be more.
func (m *Monitor) turn(ctx context.Context, t *target) (more bool) {
	begin := m.clock.Now()
	for seen := 0; seen < m.turnDocs; seen += batchDocs {
		if ctx.Err() != nil || m.disabled.Load() {
			return false
		}
		start := m.clock.Now()
		n, more, err := m.batch(ctx, t)
		m.deleted.Add(int64(n))
		if err != nil && !errors.Is(err, table.ErrDropped) { // else the next pass knows the rule that is in force
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
