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

// watch tells long-running Go code about the current call: whether the call was interrupted, and
// whether there is memory left.
type watch struct {
	rt       *goja.Runtime
	ctx      context.Context // the context of the call's operation
	deadline time.Time       // the deadline of the call
	guarded  *guard          // the guard of the call
	// converted is the number of calls of step.
	converted int
	// ended is the reason why the call was interrupted, or nil.
	ended atomic.Pointer[string]
	// The memory of the process at the last measurement, in bytes.
	measured     time.Time
	heap, stacks uint64
}

// guard checks a long call every guardInterval and interrupts it when it must end.
type guard struct {
	ctx      context.Context
	watch    *watch
	deadline time.Time
	heap     uint64
	stacks   uint64
	// growth is the number of bytes by which the heap may grow. most is the largest allowed heap
	// size.
	growth, most uint64

	mu      sync.Mutex
	timer   clock.Timer
	stopped bool
	greedy  bool // the call was ended because it used too much memory
}

func (w *watch) guard(ctx context.Context, timeout time.Duration) *guard {
	now := clock.Computer.Now()
	w.measure(now)
	g := &guard{ctx: ctx, watch: w, deadline: now.Add(timeout), heap: w.heap, stacks: w.stacks}
	g.growth, g.most = heapLimits()
	g.mu.Lock()
	g.timer = clock.AfterFunc(clock.Computer, min(guardInterval, timeout), g.tick)
	g.mu.Unlock()
	return g
}

// processShare is the divisor that limits one call to an eighth of the process's memory limit.
const processShare = 8

// heapLimits returns the number of bytes by which a call may let the heap grow, and the largest
// allowed heap size. Both are smaller in a process with a Go memory limit.
func heapLimits() (growth, most uint64) {
	limit := debug.SetMemoryLimit(-1)
	if limit == math.MaxInt64 {
		return maxHeapGrowth, math.MaxUint64
	}
	return min(maxHeapGrowth, uint64(limit)/processShare), uint64(limit)
}

// measure measures the memory of the process before a call, unless the last measurement is recent.
// Most calls take microseconds, so measuring each time would be slow.
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
	case !clock.Computer.Now().Before(g.deadline):
		g.watch.interrupt("JavaScript ran for too long")
	case g.exceeds(heap), stacks > g.stacks+maxStackGrowth:
		g.end()
	default:
		g.timer.Reset(guardInterval)
	}
}

// exceeds reports whether the heap is larger than the call allows.
func (g *guard) exceeds(heap uint64) bool {
	return heap > g.heap+min(g.heap, maxGarbage)+g.growth || heap > g.most
}

// end interrupts a call that uses too much memory.
func (g *guard) end() {
	g.greedy = true
	g.watch.interrupt("JavaScript used too much memory")
}

// room interrupts the call if n more bytes would exceed its memory limit. Functions call it before
// they create a large value. The guard's timer is too slow for that: a text may double many times
// before the timer fires, and the timer is late on busy processors.
func (w *watch) room(n int64) {
	g := w.guarded
	if g == nil {
		return // the engine is being created
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if heap, _, _ := memorySize(); g.exceeds(heap + uint64(max(n, 0))) {
		g.end()
	}
}

// stop ends the guard. The engine is not interrupted afterwards.
func (g *guard) stop() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.stopped = true
	g.timer.Stop()
	g.watch.resume()
	if g.greedy {
		// Collect the garbage of this call soon, so that it does not count as live heap at the
		// start of later calls.
		clock.AfterFunc(clock.Computer, guardInterval, runtime.GC)
	}
}

// memorySize returns three sizes in bytes: the heap of the process with its garbage, the live heap
// after the last garbage collection, and the stacks.
func memorySize() (heap, live, stacks uint64) {
	sample := []metrics.Sample{
		{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/gc/heap/live:bytes"},
		{Name: "/memory/classes/heap/stacks:bytes"},
	}
	metrics.Read(sample)
	return sample[0].Value.Uint64(), sample[1].Value.Uint64(), sample[2].Value.Uint64()
}

// interrupt interrupts the running call, if any. Any goroutine may call it.
func (w *watch) interrupt(why string) {
	w.ended.Store(&why)
	w.rt.Interrupt(why)
}

// resume clears an interrupt.
func (w *watch) resume() {
	w.ended.Store(nil)
	w.rt.ClearInterrupt()
}

// look panics with an error if the call was interrupted. The panic ends the call.
func (w *watch) look() {
	if why := w.ended.Load(); why != nil {
		panic(w.rt.NewGoError(failure("Interrupted: %s", *why)))
	}
}

// step counts a converted value, and checks for an interrupt from time to time.
func (w *watch) step() {
	if w.converted++; w.converted%lookInterval == 0 {
		w.look()
	}
}

// lookInterval is the number of steps after which an iterator or a conversion checks for an
// interrupt.
const lookInterval = 256
