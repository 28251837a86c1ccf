package engine

import (
	"context"
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dop251/goja"

	"github.com/sheafdb/sheaf/internal/clock"
)

// watch is what code that may run long asks about the call that it runs in: whether the call was
// interrupted, and whether there is memory for more.
type watch struct {
	rt       *goja.Runtime
	ctx      context.Context // the operation of the call
	deadline time.Time       // of the call
	guarded  *guard          // watches the call
	// converted counts the values that were converted, from and to BSON.
	converted int
	// ended is why the call was interrupted, nil for a call that was not.
	ended atomic.Pointer[string]
	// The process's memory when it was measured.
	measured     time.Time
	heap, stacks uint64
}

// guard looks at a call that takes long every guardInterval and interrupts it when it must end.
type guard struct {
	ctx      context.Context
	watch    *watch
	deadline time.Time
	heap     uint64
	stacks   uint64
	// growth is by how much the heap may grow, most what it may be.
	growth, most uint64

	mu      sync.Mutex
	timer   clock.Timer
	stopped bool
	greedy  bool // the call used too much memory
}

func (w *watch) guard(ctx context.Context, timeout time.Duration) *guard {
	now := clock.System{}.Now()
	w.measure(now)
	g := &guard{ctx: ctx, watch: w, deadline: now.Add(timeout), heap: w.heap, stacks: w.stacks}
	g.growth, g.most = heapLimits()
	g.mu.Lock()
	g.timer = clock.AfterFunc(clock.System{}, min(guardInterval, timeout), g.tick)
	g.mu.Unlock()
	return g
}

// processShare is which part of the process's memory limit a call may take.
const processShare = 8

// heapLimits returns by how much a call may let the heap grow, and how large it may be: a process
// with a memory limit of Go has less for a call than another.
func heapLimits() (growth, most uint64) {
	limit := debug.SetMemoryLimit(-1)
	if limit == math.MaxInt64 {
		return maxHeapGrowth, math.MaxUint64
	}
	return min(maxHeapGrowth, uint64(limit)/processShare), uint64(limit)
}

// measure knows the process's memory before a call. It is looked at now and then: most calls take
// microseconds.
func (w *watch) measure(now time.Time) {
	if now.Sub(w.measured) > measureInterval {
		w.measured = now
		_, w.heap, w.stacks = memorySize()
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
		g.watch.interrupt("the operation ended")
	case !clock.System{}.Now().Before(g.deadline):
		g.watch.interrupt("JavaScript ran for too long")
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
	g.watch.interrupt("JavaScript used too much memory")
}

// room ends the call if n more bytes would exceed its memory. Functions call it before they make a
// large value. The guard's timer is too slow for them: a text may double many times until it fires,
// and it fires late on busy processors.
func (w *watch) room(n int64) {
	g := w.guarded
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
	g.watch.resume()
	if g.greedy {
		// What later calls start from must not be this one's garbage, which it is once the engine is dropped.
		clock.AfterFunc(clock.System{}, guardInterval, runtime.GC)
	}
}

// memorySize returns the bytes of the process's heap, with its garbage, of what was alive at the
// last collection, and of stacks.
func memorySize() (heap, live, stacks uint64) {
	sample := []metrics.Sample{
		{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/gc/heap/live:bytes"},
		{Name: "/memory/classes/heap/stacks:bytes"},
	}
	metrics.Read(sample)
	return sample[0].Value.Uint64(), sample[1].Value.Uint64(), sample[2].Value.Uint64()
}

// interrupt ends the call that runs, if any. Another goroutine calls it.
func (w *watch) interrupt(why string) {
	w.ended.Store(&why)
	w.rt.Interrupt(why)
}

// resume takes an interrupt back.
func (w *watch) resume() {
	w.ended.Store(nil)
	w.rt.ClearInterrupt()
}

// look ends the call with an error if it was interrupted.
func (w *watch) look() {
	if why := w.ended.Load(); why != nil {
		panic(w.rt.NewGoError(failure("Interrupted: %s", *why)))
	}
}

// step counts a value that is converted, and looks now and then.
func (w *watch) step() {
	if w.converted++; w.converted%lookInterval == 0 {
		w.look()
	}
}

// lookInterval is after how many steps an iterator or a conversion looks whether its call was
// interrupted.
const lookInterval = 256
