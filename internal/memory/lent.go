package memory

import (
	"math"
	"sync"
	"sync/atomic"
)

// lendSteps is the number of steps in which a budget takes memory back and lends it again.
const lendSteps = 16

// lent is memory of a budget that other users have while the requests do not need it.
type lent struct {
	// from is the number of bytes that the requests may hold before the budget must take more lent
	// memory back.
	from atomic.Int64

	mu sync.Mutex
	// most is the largest number of bytes that may be lent. taken is how many of these bytes the
	// requests hold.
	most, taken int64
	yield       func(n int64)
}

// Lend lets another user have n bytes of the budget until the requests need them. The budget calls
// yield with the number of these bytes that the requests take. The user must release these bytes
// before yield returns. yield must not call the budget. Call Lend before the first use of the
// budget.
func (b *Budget) Lend(n int64, yield func(n int64)) {
	if b == nil || n < lendSteps {
		return
	}
	b.lent.most, b.lent.yield = n, yield
	b.lent.set(0)
}

// set records how many bytes the requests take. The caller holds the lock, except for the first
// call.
func (l *lent) set(taken int64) {
	l.taken = taken
	// The first step is left to small requests, which come and go all the time.
	from := taken + l.most/lendSteps
	if taken == l.most {
		from = math.MaxInt64
	}
	l.from.Store(from)
}

// need returns how many bytes the user must release if requests hold used bytes, with one step in
// advance.
func (l *lent) need(used int64) int64 {
	step := l.most / lendSteps
	if used <= step {
		return 0
	}
	return min((min(used, l.most)/step+1)*step, l.most)
}

// take takes back the bytes that the requests need if they hold used bytes.
func (l *lent) take(used int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if need := l.need(used); need > l.taken {
		l.set(need)
		l.yield(need)
	}
}

// Relend lends one step of the memory again if the requests no longer need it. Call it from time to
// time.
func (b *Budget) Relend() {
	if b == nil || b.pressed.Load() {
		return
	}
	l := &b.lent
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.taken == 0 {
		return
	}
	if next := max(l.need(b.used.Load()), l.taken-l.most/lendSteps); next < l.taken {
		l.set(next)
		l.yield(next)
	}
}
