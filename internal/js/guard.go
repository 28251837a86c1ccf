package js

import (
	"context"
	"runtime"
	"runtime/metrics"
	"sync"
	"time"

	"github.com/dop251/goja"

	"github.com/sheafdb/sheaf/internal/clock"
)

// guard looks at a call that takes long every guardInterval and interrupts it when it must end.
type guard struct {
	ctx      context.Context
	rt       *goja.Runtime
	deadline time.Time
	heap     uint64
	stacks   uint64

	mu      sync.Mutex
	timer   *time.Timer
	stopped bool
}

func (e *engine) guard(ctx context.Context, timeout time.Duration) *guard {
	g := &guard{ctx: ctx, rt: e.rt, deadline: clock.System{}.Now().Add(timeout)}
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
	heap, stacks := memorySize()
	if g.heap == 0 {
		g.heap, g.stacks = heap, stacks
	}
	switch {
	case g.ctx.Err() != nil:
		g.rt.Interrupt("the operation ended")
	case !clock.System{}.Now().Before(g.deadline):
		g.rt.Interrupt("JavaScript ran for too long")
	case heap > g.heap+maxHeapGrowth && g.keepsMuch(), stacks > g.stacks+maxStackGrowth:
		g.rt.Interrupt("JavaScript used too much memory")
	default:
		g.timer.Reset(guardInterval)
	}
}

// keepsMuch tells whether the heap has grown for what is kept. What is not counts until the garbage is collected.
func (g *guard) keepsMuch() bool {
	runtime.GC()
	heap, _ := memorySize()
	return heap > g.heap+maxHeapGrowth
}

// stop ends the watch; after it the engine is not interrupted any more.
func (g *guard) stop() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.stopped = true
	g.timer.Stop()
	g.rt.ClearInterrupt()
}

// memorySize returns the bytes of the process's heap and of its stacks.
func memorySize() (heap, stacks uint64) {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64(), sample[1].Value.Uint64()
}
