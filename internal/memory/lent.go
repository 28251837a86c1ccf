package memory

import (
	"math"
	"sync"
	"sync/atomic"
)

// lendSteps is in how many steps a budget takes memory back and lends it again.
const lendSteps = 16

// lent is memory of a budget that others use while the requests do not need it.
type lent struct {
	// from is what the requests may hold before more must be taken back.
	from atomic.Int64

	mu sync.Mutex
	// most is how much is lent at most, taken how much of it the requests have.
	most, taken int64
	yield       func(n int64)
}

// Lend lets others use n bytes of the budget until the requests need them. yield is called with how
// much of it the requests take, which others must leave at once. It must not call the budget. Lend
// comes before the budget's first use.
func (b *Budget) Lend(n int64, yield func(n int64)) {
	if b == nil || n < lendSteps {
		return
	}
	b.lent.most, b.lent.yield = n, yield
	b.lent.set(0)
}

// set notes what the requests take. It needs the lock, but for the first time.
func (l *lent) set(taken int64) {
	l.taken = taken
	// The first step is for small requests: they come and go all the time.
	from := taken + l.most/lendSteps
	if taken == l.most {
		from = math.MaxInt64
	}
	l.from.Store(from)
}

// need returns how much others must leave to requests that hold used bytes, with a step in advance.
func (l *lent) need(used int64) int64 {
	step := l.most / lendSteps
	if used <= step {
		return 0
	}
	return min((min(used, l.most)/step+1)*step, l.most)
}

// take takes back what requests that hold used bytes need.
func (l *lent) take(used int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if need := l.need(used); need > l.taken {
		l.set(need)
		l.yield(need)
	}
}

// Relend lends a step of the memory again that the requests do not need any more. It is to be
// called now and then.
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
