package memory

import (
	"context"
	"sync"
	"sync/atomic"
)

// Operation is what one operation holds beside the holdings of its parts: the values that its
// expressions make, and lists that live as long as it does. It is safe for concurrent use; a nil
// one counts nothing.
type Operation struct {
	mu   sync.Mutex
	used atomic.Bool // something was counted
	held Holding
	sum  int64 // what Add has counted
	most int64 // the largest value
	// turn counts how often the sum was given away.
	turn atomic.Uint64
}

// Part is what Add counts for something that may end before its operation, such as a pipeline that
// is compiled for each document.
type Part struct {
	op    *Operation
	turn  uint64
	start int64 // the sum when the part began
	n     int64
	ended bool
}

// LargeValue is from which size on a single value is worth counting.
const LargeValue = 1 << 20

// operationKey is the key of an operation in its context.
type operationKey struct{}

// OperationKey is what a context is asked for its Operation.
func OperationKey() any { return operationKey{} }

// Of returns the operation that a context belongs to, or nil.
func Of(ctx context.Context) *Operation {
	o, _ := ctx.Value(operationKey{}).(*Operation)
	return o
}

// Use makes the operation count in a budget. It holds nothing yet.
func (o *Operation) Use(b *Budget) { o.held = b.Hold() }

// Value counts a value of n bytes. Of all values the largest one counts, twice: while it is made,
// its parts are there, too. It fails with ExceededMemoryLimit.
func (o *Operation) Value(n int64) error {
	if o == nil || n < LargeValue {
		return nil
	}
	o.used.Store(true)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.most = max(o.most, n)
	return o.held.Hold(o.sum + 2*o.most)
}

// Add counts n bytes that are there until the operation ends. It fails with ExceededMemoryLimit.
func (o *Operation) Add(n int64) error {
	if o == nil {
		return nil
	}
	o.used.Store(true)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.sum += n
	return o.held.Hold(o.sum + 2*o.most)
}

// Begin begins a part. Nothing else counts until its End.
func (o *Operation) Begin() Part {
	if o == nil {
		return Part{}
	}
	p := Part{op: o, turn: o.turn.Load()}
	if o.used.Load() {
		o.mu.Lock()
		p.start = o.sum
		o.mu.Unlock()
	}
	return p
}

// End ends the part: what is counted from then on is not its own.
func (p *Part) End() {
	p.ended = true
	if p.op == nil || !p.op.used.Load() {
		return
	}
	p.op.mu.Lock()
	p.n = p.op.sum - p.start
	p.op.mu.Unlock()
}

// Release gives the part back, once, and returns what it was. It ends the part where End did not.
// Where its operation has ended or was handed over nothing is left to give back.
func (p *Part) Release() int64 {
	if !p.ended {
		p.End()
	}
	op, n := p.op, p.n
	p.op, p.n = nil, 0
	if n == 0 || p.turn != op.turn.Load() {
		return n
	}
	op.mu.Lock()
	op.sum -= n
	op.mu.Unlock()
	return n
}

// HandOver returns what Add has counted and gives it back: a cursor that goes on after the
// operation counts it itself.
func (o *Operation) HandOver() int64 {
	if !o.used.Load() {
		return 0
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	n := max(0, o.sum)
	o.sum = 0
	o.turn.Add(1)
	o.held.Shrink(2 * o.most)
	return n
}

// Release gives everything back at the end of the operation.
func (o *Operation) Release() {
	if !o.used.Load() {
		return
	}
	o.used.Store(false)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.sum, o.most = 0, 0
	o.turn.Add(1)
	if o.held.held > 0 {
		o.held.Release()
	}
}
