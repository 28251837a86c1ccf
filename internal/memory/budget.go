package memory

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// Budget limits the sum of all holdings. It is safe for concurrent use.
type Budget struct {
	limit int64
	used  atomic.Int64
	peak  atomic.Int64
	// waiting is the number of waiters. A holder that releases bytes reads it without the lock.
	waiting atomic.Int32
	refused atomic.Int64
	// requested is the sum of all bytes requested, granted or not.
	requested atomic.Int64

	// pressed means that new requests must wait, even if the budget has room, because the process
	// lacks memory; see Press.
	pressed atomic.Bool

	lent lent

	mu      sync.Mutex
	waiters []*waiter // first come, first served
	// admitted is the number of holdings that Admit has filled and that are not released yet.
	admitted int
	// granted is the number of all holdings that Admit has filled.
	granted int64
}

// waiter is a request that waits for n bytes.
type waiter struct {
	n       int64
	granted chan struct{}
}

// New returns a budget of limit bytes.
func New(limit int64) *Budget {
	b := &Budget{limit: limit}
	b.lent.from.Store(math.MaxInt64)
	return b
}

// Stats describes a budget.
type Stats struct {
	Limit, Used, Peak int64
	// Requested is the sum of all bytes requested since the start, granted or not.
	Requested int64
	// Refused counts the requests that failed with ExceededMemoryLimit.
	Refused int64
	// Waiting is the number of requests that wait for their share.
	Waiting int
}

// Stats returns the current figures of the budget. They are 0 if the budget is nil.
func (b *Budget) Stats() Stats {
	if b == nil {
		return Stats{}
	}
	return Stats{
		Limit: b.limit, Used: b.used.Load(), Peak: b.peak.Load(), Requested: b.requested.Load(),
		Refused: b.refused.Load(), Waiting: int(b.waiting.Load()),
	}
}

// Share returns the limit of the budget divided by n, but at most most bytes. A nil budget returns
// most.
func (b *Budget) Share(n int, most int64) int64 {
	if b == nil {
		return most
	}
	return min(b.limit/int64(n), most)
}

// take adds n bytes to the used bytes if the sum does not exceed limit, and reports whether it
// does.
func (b *Budget) take(n, limit int64) bool {
	for {
		used := b.used.Load()
		if used+n > limit {
			return false
		}
		if b.used.CompareAndSwap(used, used+n) {
			b.note(used + n)
			return true
		}
	}
}

// ask takes n bytes for a holding that already has bytes. It may use the whole budget.
func (b *Budget) ask(n int64) bool {
	b.requested.Add(n)
	return b.take(n, b.limit)
}

// spare takes n bytes of optional memory. It leaves half of the budget to required memory.
func (b *Budget) spare(n int64) bool {
	b.requested.Add(n)
	return b.take(n, b.limit/2)
}

// force adds n bytes even if they exceed the limit.
func (b *Budget) force(n int64) {
	b.requested.Add(n)
	b.note(b.used.Add(n))
}

// note updates the peak and lent memory after the use has grown to used bytes.
func (b *Budget) note(used int64) {
	if used > b.lent.from.Load() {
		b.lent.take(used)
	}
	for {
		peak := b.peak.Load()
		if used <= peak || b.peak.CompareAndSwap(peak, used) {
			return
		}
	}
}

// give returns n bytes to the budget and serves the waiters.
func (b *Budget) give(n int64) {
	b.used.Add(-n)
	if b.waiting.Load() > 0 {
		b.mu.Lock()
		b.serve()
		b.mu.Unlock()
	}
}

// serve gives the waiters their bytes, in order. The caller holds the lock.
func (b *Budget) serve() {
	for len(b.waiters) > 0 && b.admits(b.waiters[0].n) {
		close(b.waiters[0].granted)
		b.waiters[0] = nil
		b.waiters = b.waiters[1:]
		b.waiting.Add(-1)
	}
}

// admits takes n bytes for a request that holds nothing, if there is room, and reports whether it
// did. If no other request is admitted, the request may take more than half of the budget, because
// its message may be that large. The caller holds the lock.
func (b *Budget) admits(n int64) bool {
	if b.pressed.Load() {
		return false
	}
	if !b.take(n, b.limit/2) && (b.admitted > 0 || !b.take(n, b.limit)) {
		return false
	}
	b.admitted++
	b.granted++
	return true
}

// admit waits until the budget has n bytes for a request that holds nothing.
func (b *Budget) admit(ctx context.Context, n int64) error {
	b.requested.Add(n)
	w := &waiter{n: n, granted: make(chan struct{})}
	b.mu.Lock()
	b.waiters = append(b.waiters, w)
	b.waiting.Add(1)
	b.serve()
	b.mu.Unlock()
	select {
	case <-w.granted:
		return nil
	case <-ctx.Done():
		return b.leave(ctx, w)
	}
}

// leave ends the wait of a request whose context has ended.
func (b *Budget) leave(ctx context.Context, w *waiter) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	i := slices.Index(b.waiters, w)
	if i < 0 {
		return nil // the bytes were granted at the same time
	}
	b.waiters = slices.Delete(b.waiters, i, i+1)
	b.waiting.Add(-1)
	b.serve()
	if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return b.exceeded(w.n)
	}
	return context.Cause(ctx)
}

// Press makes new requests wait, or lets them continue. It is for memory that the budget does not
// count, such as the buffers of a compaction. While new requests wait, the budget also takes lent
// memory back.
func (b *Budget) Press(on bool) {
	if b == nil {
		return
	}
	b.pressed.Store(on)
	if on && b.lent.from.Load() != math.MaxInt64 {
		b.lent.take(math.MaxInt64)
	}
	if !on && b.waiting.Load() > 0 {
		b.mu.Lock()
		b.serve()
		b.mu.Unlock()
	}
}

// readmit tells the budget that an admitted request has ended.
func (b *Budget) readmit() {
	b.mu.Lock()
	b.admitted--
	b.serve()
	b.mu.Unlock()
}

func (b *Budget) exceeded(n int64) error {
	b.refused.Add(1)
	if b.pressed.Load() && b.used.Load()+n <= b.limit {
		return mongoerr.New(mongoerr.ExceededMemoryLimit,
			"the server has no memory left: its requests hold %d bytes, the rest is taken by caches, writes and garbage; "+
				"this one cannot have %d more", b.used.Load(), n)
	}
	return mongoerr.New(mongoerr.ExceededMemoryLimit,
		"the requests of this server hold %d of %d bytes of memory; this one cannot have %d more", b.used.Load(), b.limit, n)
}
