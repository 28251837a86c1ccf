package command

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sheafdb/sheaf/internal/clock"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// writeGate keeps writers out while fsyncLock is held. Who passes it costs two additions; who
// waits at it can be interrupted. Reads do not pass it.
type writeGate struct {
	writers atomic.Int64 // commands between enter and leave, and those that look whether they may
	closed  atomic.Bool
	idle    chan struct{} // gets an element when the last writer leaves a closed gate
	Counts  gateCounts

	mu    sync.Mutex
	count int64         // how often the lock is held
	open  chan struct{} // closed at the last unlock
}

// gateCounts count who passed the gate, who locked it, who waited, and for how long.
type gateCounts struct{ Writes, Locks, Waits, WaitMicros atomic.Int64 }

func (g *writeGate) init() { g.idle = make(chan struct{}, 1) }

// Enter waits until the gate is open. waiting is called before it waits.
func (g *writeGate) Enter(ctx context.Context, waiting func(bool)) error {
	for {
		g.writers.Add(1)
		if !g.closed.Load() {
			g.Counts.Writes.Add(1)
			return nil
		}
		g.Leave()
		g.mu.Lock()
		open := g.open
		g.mu.Unlock()
		if open == nil {
			continue // it was opened just now
		}
		if err := g.await(ctx, open, waiting); err != nil {
			return err
		}
	}
}

// await waits until the gate opens, and counts that.
func (g *writeGate) await(ctx context.Context, open <-chan struct{}, waiting func(bool)) error {
	g.Counts.Waits.Add(1)
	start := clock.System{}.Now()
	waiting(true)
	defer func() {
		waiting(false)
		g.Counts.WaitMicros.Add(clock.System{}.Now().Sub(start).Microseconds())
	}()
	select {
	case <-open:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// pass is enter for what is no command.
func (g *writeGate) pass(ctx context.Context) (leave func(), err error) {
	return g.Leave, g.Enter(ctx, func(bool) {})
}

func (g *writeGate) Leave() {
	if g.writers.Add(-1) == 0 && g.closed.Load() {
		select {
		case g.idle <- struct{}{}:
		default:
		}
	}
}

// Lock closes the gate, waits until nobody writes any more, and returns how often it is locked now.
func (g *writeGate) Lock(ctx context.Context, c clock.Clock, patience time.Duration) (int64, error) {
	g.mu.Lock()
	g.count++
	count := g.count
	if g.open == nil {
		g.open = make(chan struct{})
	}
	g.closed.Store(true)
	g.mu.Unlock()
	late, timer := clock.NewTimer(c, patience)
	defer timer.Stop()
	for g.writers.Load() > 0 {
		select {
		case <-g.idle:
		case <-late:
			_, _ = g.Unlock()
			return 0, mongoerr.New(mongoerr.LockTimeout, "Fsync lock timed out")
		case <-ctx.Done():
			_, _ = g.Unlock()
			return 0, ctx.Err()
		}
	}
	g.Counts.Locks.Add(1)
	select { // another one who locks may wait for the same news
	case g.idle <- struct{}{}:
	default:
	}
	return count, nil
}

// Unlock takes one lock back and returns how many are left; ok is false where there was none.
func (g *writeGate) Unlock() (left int64, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.count == 0 {
		return 0, false
	}
	g.count--
	if g.count == 0 {
		g.closed.Store(false)
		close(g.open)
		g.open = nil
	}
	return g.count, true
}

func (g *writeGate) Locked() bool { return g.closed.Load() }
