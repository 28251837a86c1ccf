package ttl

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/sheafdb/sheaf/internal/clock"
	"github.com/sheafdb/sheaf/internal/table"
	"github.com/sheafdb/sheaf/internal/write"
)

// DefaultSleep is how long the monitor rests between two passes.
const DefaultSleep = 60 * time.Second

const (
	// batchDocs is how many records a target looks at before the monitor rests and looks at the time.
	batchDocs = 128
	// turnDocs and turnTime bound a target's turn in a sub-pass, as mongod's ttlIndexDeleteTargetDocs and
	// ttlIndexDeleteTargetTimeMS do.
	turnDocs = 50_000
	turnTime = time.Second
	// maxRest bounds the rest after a batch.
	maxRest = 100 * time.Millisecond
)

// Target is a set of documents of one collection that expire.
type Target struct {
	Coll *table.Collection
	// Name tells what the rule belongs to, for the log: the name of an index.
	Name string
	// Delete removes expired ones among the next limit documents and returns how many. more is false when it has come to the
	// end. It fails with table.ErrDropped where the rule is not in force any more.
	Delete func(ctx context.Context, limit int) (deleted int, more bool, err error)
}

// Finder returns the targets of a collection. invalid is the number of rules that cannot be carried out.
type Finder func(c *table.Collection, now time.Time) (targets []Target, invalid int, err error)

// Guard lets a batch begin; leave ends it.
type Guard func(ctx context.Context) (leave func(), err error)

// Stats is what serverStatus shows under metrics.ttl.
type Stats struct{ Deleted, Passes, SubPasses, Invalid int64 }

// Monitor removes expired documents. Its methods are safe for concurrent use, but for Pass and Run, of which one runs at a
// time.
type Monitor struct {
	store   *table.Store
	clock   clock.Clock
	log     *slog.Logger
	finders []Finder
	guard   Guard

	sleep    atomic.Int64 // seconds
	disabled atomic.Bool
	changed  chan struct{} // holds one element after a change of sleep

	deleted, passes, subPasses, invalid atomic.Int64
}

// New returns a monitor of a store. The finders are asked beside the one for indexes and clustered collections.
func New(store *table.Store, writes *write.Executor, c clock.Clock, log *slog.Logger, finders ...Finder) *Monitor {
	m := &Monitor{store: store, clock: c, log: log, changed: make(chan struct{}, 1)}
	m.finders = append([]Finder{indexFinder(store, writes), bucketFinder(store, writes)}, finders...)
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
		timer := time.NewTimer(time.Duration(m.sleep.Load()) * time.Second)
		select {
		case <-timer.C:
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
	now := m.clock.Now()
	for more := true; more && ctx.Err() == nil && !m.disabled.Load(); {
		more = m.subPass(ctx, now)
	}
	m.passes.Add(1)
}

// subPass gives each target its turn and reports whether one of them has more to remove.
func (m *Monitor) subPass(ctx context.Context, now time.Time) (more bool) {
	m.subPasses.Add(1)
	for _, entry := range m.store.Catalog().All() {
		c, ok := entry.Attached.(*table.Collection)
		if !ok {
			continue
		}
		for _, find := range m.finders {
			targets, invalid, err := find(c, now)
			m.invalid.Add(int64(invalid))
			if err != nil {
				m.report(c, "", err)
			}
			for i := range targets {
				if ctx.Err() != nil || m.disabled.Load() {
					return false
				}
				again, err := m.turn(ctx, &targets[i])
				if err != nil {
					m.report(c, targets[i].Name, err)
				}
				more = more || again
			}
		}
	}
	return more
}

// turn removes documents of a target for a while and reports whether there are more.
func (m *Monitor) turn(ctx context.Context, t *Target) (more bool, err error) {
	begin := m.clock.Now()
	for seen := 0; seen < turnDocs; seen += batchDocs {
		start := m.clock.Now()
		n, more, err := m.batch(ctx, t)
		m.deleted.Add(int64(n))
		if errors.Is(err, table.ErrDropped) {
			return false, nil // the next pass knows the rule that is in force
		}
		if err != nil || !more || m.disabled.Load() {
			return false, err
		}
		end := m.clock.Now()
		if end.Sub(begin) > turnTime {
			return true, nil
		}
		if !rest(ctx, min(end.Sub(start), maxRest)) {
			return false, nil
		}
	}
	return true, nil
}

func (m *Monitor) batch(ctx context.Context, t *Target) (deleted int, more bool, err error) {
	if m.guard != nil {
		leave, err := m.guard(ctx)
		if err != nil {
			return 0, false, err
		}
		defer leave()
	}
	return t.Delete(ctx, batchDocs)
}

// rest waits for d and reports whether ctx goes on.
func rest(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func (m *Monitor) report(c *table.Collection, name string, err error) {
	if errors.Is(err, context.Canceled) {
		return
	}
	m.log.Warn("Expired documents could not be removed", "c", "INDEX", "ns", c.Namespace(), "index", name, "error", err)
}
