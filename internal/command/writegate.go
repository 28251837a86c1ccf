package command

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sheafdb/sheaf/internal/clock"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// writeGate blocks writers while fsyncLock holds it. Passing the open gate costs two atomic
// additions. A command that waits at the gate can be interrupted. Reads do not use the gate.
type writeGate struct {
	writers atomic.Int64 // commands between Enter and Leave, also while Enter checks closed
	closed  atomic.Bool
	clock   clock.Clock
	idle    chan struct{} // receives an element when the last writer leaves the closed gate
	Counts  gateCounts

	mu    sync.Mutex
	count int64         // number of locks that are held
	open  chan struct{} // closed at the last unlock
}

// gateCounts counts the writes that passed, the locks, and the waits with their total time in
// microseconds.
type gateCounts struct{ Writes, Locks, Waits, WaitMicros atomic.Int64 }

func (g *writeGate) init(c clock.Clock) { g.clock, g.idle = c, make(chan struct{}, 1) }

// Enter waits until the gate is open, and counts the caller as a writer. waiting is called with
// true before a wait and with false after it.
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
			continue // the gate was opened in between
		}
		if err := g.await(ctx, open, waiting); err != nil {
			return err
		}
	}
}

// await waits until the gate opens or ctx ends, and counts the wait.
func (g *writeGate) await(ctx context.Context, open <-chan struct{}, waiting func(bool)) error {
	g.Counts.Waits.Add(1)
	start := g.clock.Now()
	waiting(true)
	defer func() {
		waiting(false)
		g.Counts.WaitMicros.Add(clock.Since(g.clock, start).Microseconds())
	}()
	select {
	case <-open:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// pass is Enter for a writer that is not a command, such as the TTL monitor.
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

// Lock closes the gate, waits for the writers to leave, and returns the number of locks held. If
// writers remain after patience, it takes the lock back and returns LockTimeout.
func (g *writeGate) Lock(ctx context.Context, patience time.Duration) (int64, error) {
	g.mu.Lock()
	g.count++
	count := g.count
	if g.open == nil {
		g.open = make(chan struct{})
	}
	g.closed.Store(true)
	g.mu.Unlock()
	late, timer := clock.NewTimer(g.clock, patience)
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
	select { // wake another Lock that may wait for the last writer too
	case g.idle <- struct{}{}:
	default:
	}
	return count, nil
}

// Unlock releases one lock and returns the number of locks that remain. ok is false if no lock is
// held.
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
