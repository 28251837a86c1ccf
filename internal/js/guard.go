package js

import (
	"context"
	"runtime/metrics"
	"sync"
	"time"

	"github.com/dop251/goja"
)

// guard looks at a call that takes long every guardInterval and interrupts it when it must end.
type guard struct {
	ctx       context.Context
	rt        *goja.Runtime
	remaining time.Duration
	heap      uint64

	mu      sync.Mutex
	timer   *time.Timer
	stopped bool
}

func (e *engine) guard(ctx context.Context, timeout time.Duration) *guard {
	g := &guard{ctx: ctx, rt: e.rt, remaining: timeout}
	g.mu.Lock()
	g.timer = time.AfterFunc(min(guardInterval, timeout), g.tick)
	g.mu.Unlock()
	return g
}

func (g *guard) tick() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.stopped {
		return
	}
	g.remaining -= guardInterval
	heap := heapSize()
	if g.heap == 0 {
		g.heap = heap
	}
	switch {
	case g.ctx.Err() != nil:
		g.rt.Interrupt("the operation ended")
	case g.remaining <= 0:
		g.rt.Interrupt("JavaScript ran for too long")
	case heap > g.heap+maxHeapGrowth:
		g.rt.Interrupt("JavaScript used too much memory")
	default:
		g.timer.Reset(guardInterval)
	}
}

// stop ends the watch; after it the engine is not interrupted any more.
func (g *guard) stop() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.stopped = true
	g.timer.Stop()
	g.rt.ClearInterrupt()
}

func heapSize() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
