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
	// reliefInterval is the time between two checks near the memory limit, calmInterval the time
	// far from it. A timer that is due soon makes it more expensive for the process to wait for a
	// message.
	reliefInterval = 20 * time.Millisecond
	calmInterval   = 200 * time.Millisecond
	// allocationRate is the most that a processor allocates, in bytes per second.
	allocationRate = 1 << 30
	// reliefAge is how long an operation runs, at least, before it is ended for want of memory.
	reliefAge = 20 * time.Millisecond
	// Go's memory comes near to its limit before each collection: what exceeds it by this part of
	// it is not garbage.
	reliefMargin = 3
	// The collector's limit follows the data when they have changed by this part of the process's
	// memory.
	collectorStep = 16
	// Large messages wait while less than this part of the memory is free.
	pressShare = 4
)

// unrelieved are the commands that are never ended for want of memory: they hold none, and some of
// them free it.
var unrelieved = map[string]bool{
	"ping": true, "hello": true, "isMaster": true, "ismaster": true, "killOp": true,
	"killCursors": true, "endSessions": true,
	"commitTransaction": true, "abortTransaction": true, "currentOp": true, "serverStatus": true,
	"shutdown": true, "dropDatabase": true,
	"drop": true,
}

var errRelief = mongoerr.New(mongoerr.ExceededMemoryLimit, "operation was interrupted because the server has no memory left")

// Relief ends operations and idle cursors if the server has no memory left. It is safe for
// concurrent use; the first fields are set before its first use.
type Relief struct {
	Memory  *memory.Budget
	Ops     *session.Ops
	Cursors *session.Cursors
	Clock   clock.Clock
	Logger  *slog.Logger

	// Operations and IdleCursors count what was ended.
	Operations, IdleCursors atomic.Int64

	overload atomic.Int64 // the bytes of Go's memory above the amount that lets large messages in
}

// Limits are the limits that Run enforces.
type Limits struct {
	// Process is how much memory Go may take beside the data of a store in memory.
	Process int64
	// Data returns what these take; nil is nothing.
	Data func() int64
	// Beside returns how many bytes storage takes above its budget while it writes large
	// documents. No operation is ended for them. A nil Beside returns 0.
	Beside func() int64
	// Collector, unless nil, is told the sum whenever it has changed by much.
	Collector func(bytes int64)
}

// data returns what the data take, and tells the collector.
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

// Run runs until ctx ends. While Go's memory exceeds its limit in spite of garbage collection, it
// ends operations. The budget of requests counts what is worth counting, and not every value that
// an expression makes.
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

// containerMost returns how much a process in a container may take before its operations are ended,
// whatever its budget.
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

// relieve ends the older half of the operations that have run for a while and do not only wait.
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

// goMemory returns what Go's memory limit counts: all that is mapped and was not given back.
//
// live is what the last collection found alive. If nothing has been allocated since, it is old.
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
