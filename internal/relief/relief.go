package relief

import (
	"context"
	"log/slog"
	"math"
	"runtime"
	"runtime/metrics"
	"slices"
	"sync/atomic"
	"time"

	"github.com/sheafdb/sheaf/internal/clock"
	"github.com/sheafdb/sheaf/internal/memory"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/session"
)

const (
	// reliefInterval is the time between two checks of the memory near the limit.
	reliefInterval = 20 * time.Millisecond
	// calmInterval is the time between two checks of the memory far from the limit. It is long,
	// because a timer that fires soon makes waiting for messages more expensive.
	calmInterval = 200 * time.Millisecond
	// allocationRate is the highest assumed rate at which one processor allocates, in bytes per
	// second.
	allocationRate = 1 << 30
	// reliefAge is the age from which an operation may be ended to free memory.
	reliefAge = 20 * time.Millisecond
	// Operations are ended only if the memory of the Go runtime exceeds its limit by one third
	// (1/reliefMargin). A smaller excess may be garbage that the next collection frees.
	reliefMargin = 3
	// The garbage collector's limit is adjusted when the size of the data of an in-memory store has
	// changed by 1/collectorStep of Limits.Process.
	collectorStep = 16
	// Large messages wait while less than 1/pressShare of the memory is free.
	pressShare = 4
)

var errRelief = mongoerr.New(mongoerr.ExceededMemoryLimit, "operation was interrupted because the server has no memory left")

// Relief ends operations and closes idle cursors if the server runs out of memory. It is safe for
// concurrent use. The fields of the first block are set before its first use.
type Relief struct {
	Memory  *memory.Budget
	Ops     *session.Ops
	Cursors *session.Cursors
	Clock   clock.Clock
	Logger  *slog.Logger

	// Operations and IdleCursors count the operations and the cursors that were ended.
	Operations, IdleCursors atomic.Int64

	overload atomic.Int64 // bytes of live memory over the amount up to which large messages are admitted
}

// Limits are the limits that Run enforces.
type Limits struct {
	// Process is the largest memory of the Go runtime in bytes, without the data of an in-memory
	// store.
	Process int64
	// Data returns the size of the data of an in-memory store, in bytes. A nil Data returns 0.
	Data func() int64
	// Beside returns how many bytes storage takes above its budget while it writes large
	// documents. No operation is ended for them. A nil Beside returns 0.
	Beside func() int64
	// Collector, if not nil, sets the limit of the garbage collector. It is called with the sum of
	// Process and Data in bytes, whenever Data has changed much.
	Collector func(bytes int64)
}

// data returns the size of the data, and calls Collector if it has changed much since told.
func (l *Limits) data(told *int64) int64 {
	if l.Data == nil {
		return 0
	}
	n := l.Data()
	if d := n - *told; l.Collector != nil && (d > l.Process/collectorStep || -d > l.Process/collectorStep) {
		*told = n
		l.Collector(l.Process + n)
	}
	return n
}

func (l *Limits) beside() int64 {
	if l.Beside == nil {
		return 0
	}
	return l.Beside()
}

// Run checks the memory until ctx ends. While the memory of the Go runtime is over the limit in
// spite of garbage collection, it closes idle cursors and ends operations. Run is needed because
// the memory budget of requests does not count every small value.
func (r *Relief) Run(ctx context.Context, limits Limits) {
	limit, told, most := limits.Process, int64(0), containerMost()
	due, timer := clock.NewTimer(r.Clock, calmInterval)
	defer timer.Stop()
	over, collections := 0, collector{}
	for {
		select {
		case <-due:
		case <-ctx.Done():
			return
		}
		used, live := goMemory()
		data := limits.data(&told)
		live -= data
		overload := live - limit/pressShare*(pressShare-1)
		r.overload.Store(overload)
		r.Memory.Press(overload > 0)
		if used <= min(limit+limit/reliefMargin+data+limits.beside(), most) {
			over = 0
		} else if over++; over > 1 {
			r.endIdleCursors(overload)
			r.relieve()
		}
		r.Memory.Relend()
		if collections.due(overload > 0 && r.Memory.Stats().Waiting > 0) {
			runtime.GC()
		}
		timer.Reset(untilCheck(limit + data - used))
	}
}

// containerMost returns the memory in bytes at which operations are ended in a container, even if
// Limits.Process is larger: 7/8 of the control group's limit. Outside of a container it returns the
// largest number.
func containerMost() int64 {
	if n := GroupMemory(); n > 0 {
		return n / 8 * 7
	}
	return math.MaxInt64
}

// untilCheck returns the time until the next check of the memory: as long as all processors
// together need to allocate the free bytes, between reliefInterval and calmInterval.
func untilCheck(free int64) time.Duration {
	rate := allocationRate * float64(runtime.GOMAXPROCS(0))
	wait := time.Duration(float64(free) / rate * float64(time.Second))
	return min(max(wait, reliefInterval), calmInterval)
}

// relieve ends the older half of the operations that are at least reliefAge old and that may hold
// memory.
func (r *Relief) relieve() {
	var running []session.Snapshot
	now := r.Clock.Now()
	r.Ops.Each(func(op *session.Op) {
		o := op.Snapshot()
		if mayHoldMemory(&o) && now.Sub(o.Started) >= reliefAge {
			running = append(running, o)
		}
	})
	slices.SortFunc(running, func(a, b session.Snapshot) int { return a.Started.Compare(b.Started) })
	for _, o := range running[:(len(running)+1)/2] {
		if r.Ops.End(o.ID, errRelief) {
			r.Operations.Add(1)
			r.Logger.Warn("Operation ended because the server has no memory left", "c", "COMMAND",
				"opid", o.ID, "ns", o.Namespace())
		}
	}
}

// goMemory returns the memory that the Go runtime's memory limit counts: all mapped memory that was
// not returned to the operating system.
//
// live is the size of the objects that the last collection found alive, or of all objects if that
// is less.
func goMemory() (used, live int64) {
	sample := []metrics.Sample{
		{Name: "/memory/classes/total:bytes"},
		{Name: "/memory/classes/heap/released:bytes"},
		{Name: "/gc/heap/live:bytes"},
		{Name: "/memory/classes/heap/objects:bytes"},
	}
	metrics.Read(sample)
	n := func(i int) int64 { return int64(sample[i].Value.Uint64()) }
	return n(0) - n(1), min(n(2), n(3))
}
