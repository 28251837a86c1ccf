package js

import (
	"context"
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"

	"github.com/sheafdb/sheaf/internal/clock"
)

// guard looks at a call that takes long every guardInterval and interrupts it when it must end.
type guard struct {
	ctx      context.Context
	engine   *engine
	deadline time.Time
	heap     uint64
	stacks   uint64
	// growth is by how much the heap may grow, most what it may be.
	growth, most uint64

	mu      sync.Mutex
	timer   *time.Timer
	stopped bool
	greedy  bool // the call used too much memory
}

func (e *engine) guard(ctx context.Context, timeout time.Duration) *guard {
	now := clock.System{}.Now()
	e.measure(now)
	g := &guard{ctx: ctx, engine: e, deadline: now.Add(timeout), heap: e.heap, stacks: e.stacks}
	g.growth, g.most = heapLimits()
	g.mu.Lock()
	g.timer = time.AfterFunc(min(guardInterval, timeout), g.tick)
	g.mu.Unlock()
	return g
}

// processShare is which part of the process's memory limit a call may take.
const processShare = 8

// heapLimits returns by how much a call may let the heap grow, and how large it may be: a process with a memory limit of Go has
// less for a call than another.
func heapLimits() (growth, most uint64) {
	limit := debug.SetMemoryLimit(-1)
	if limit == math.MaxInt64 {
		return maxHeapGrowth, math.MaxUint64
	}
	return min(maxHeapGrowth, uint64(limit)/processShare), uint64(limit)
}

// measure knows the process's memory before a call. It is looked at now and then: most calls take microseconds.
func (e *engine) measure(now time.Time) {
	if now.Sub(e.measured) > measureInterval {
		e.measured = now
		_, e.heap, e.stacks = memorySize()
	}
}

func (g *guard) tick() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.stopped {
		return
	}
	heap, _, stacks := memorySize()
	switch {
	case g.ctx.Err() != nil:
		g.engine.interrupt("the operation ended")
	case !clock.System{}.Now().Before(g.deadline):
		g.engine.interrupt("JavaScript ran for too long")
	case g.exceeds(heap), stacks > g.stacks+maxStackGrowth:
		g.end()
	default:
		g.timer.Reset(guardInterval)
	}
}

// exceeds reports whether the heap is larger than the call may let it grow.
func (g *guard) exceeds(heap uint64) bool {
	return heap > g.heap+min(g.heap, maxGarbage)+g.growth || heap > g.most
}

// end interrupts a call that takes too much memory.
func (g *guard) end() {
	g.greedy = true
	g.engine.interrupt("JavaScript used too much memory")
}

// room ends the call if n more bytes would exceed its memory. Functions call it before they make a
// large value. The guard's timer is too slow for them: a text may double many times until it fires,
// and it fires late on busy processors.
func (e *engine) room(n int64) {
	g := e.guarded
	if g == nil {
		return // the engine is being made
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if heap, _, _ := memorySize(); g.exceeds(heap + uint64(max(n, 0))) {
		g.end()
	}
}

// stop ends the watch; after it the engine is not interrupted any more.
func (g *guard) stop() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.stopped = true
	g.timer.Stop()
	g.engine.resume()
	if g.greedy {
		// What later calls start from must not be this one's garbage, which it is once the engine is dropped.
		time.AfterFunc(guardInterval, runtime.GC)
	}
}

// memorySize returns the bytes of the process's heap, with its garbage, of what was alive at the last collection, and of
// stacks.
func memorySize() (heap, live, stacks uint64) {
	sample := []metrics.Sample{
		{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"},
	}
	metrics.Read(sample)
	return sample[0].Value.Uint64(), sample[1].Value.Uint64(), sample[2].Value.Uint64()
}

// interrupt ends the call that runs, if any. Another goroutine calls it.
func (e *engine) interrupt(why string) {
	e.ended.Store(&why)
	e.rt.Interrupt(why)
}

// resume takes an interrupt back.
func (e *engine) resume() {
	e.ended.Store(nil)
	e.rt.ClearInterrupt()
}

// look ends the call with an error if it was interrupted.
func (e *engine) look() {
	if why := e.ended.Load(); why != nil {
		panic(e.rt.NewGoError(failure("Interrupted: %s", *why)))
	}
}

// step counts a value that is converted, and looks now and then.
func (e *engine) step() {
	if e.converted++; e.converted%lookInterval == 0 {
		e.look()
	}
}

// lookInterval is after how many steps an iterator or a conversion looks whether its call was interrupted.
const lookInterval = 256
