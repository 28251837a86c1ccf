package memory

import (
	"context"
	"sync"
	"sync/atomic"
)

// Operation counts the memory of one operation outside the holdings of its parts: values computed
// by expressions, and lists that live as long as the operation. It is safe for concurrent use. A
// nil Operation counts nothing.
type Operation struct {
	mu   sync.Mutex
	used atomic.Bool // whether anything was counted
	held Holding
	sum  int64 // the bytes counted by Add
	most int64 // size of the largest value
	// turn counts how often the sum was released or handed over.
	turn atomic.Uint64
}

// Part is the share of Add's bytes for something that may end before its operation, such as a
// pipeline that is compiled for each document.
type Part struct {
	op    *Operation
	turn  uint64
	start int64 // the sum when the part began
	n     int64
	ended bool
}

// LargeValue is the size in bytes from which a single value is counted.
const LargeValue = 1 << 20

// operationKey is the key of an operation in its context.
type operationKey struct{}

// OperationKey returns the key of the Operation in a context.
func OperationKey() any { return operationKey{} }

// Of returns the operation that a context belongs to, or nil.
func Of(ctx context.Context) *Operation {
	o, _ := ctx.Value(operationKey{}).(*Operation)
	return o
}

// Use makes the operation count in a budget. It takes no bytes yet.
func (o *Operation) Use(b *Budget) { o.held = b.Hold() }

// Value counts a value of n bytes. Only the largest value counts, and it counts twice: its parts
// exist, too, while it is made. Value fails with ExceededMemoryLimit.
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

// Add counts n bytes until the operation ends. It fails with ExceededMemoryLimit.
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

// Begin begins a part. Until its End, no other code may call Add.
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

// End ends the part. Bytes added later do not belong to it.
func (p *Part) End() {
	p.ended = true
	if p.op == nil || !p.op.used.Load() {
		return
	}
	p.op.mu.Lock()
	p.n = p.op.sum - p.start
	p.op.mu.Unlock()
}

// Release gives the bytes of the part back, once, and returns their number. It also ends the part
// if End was not called. If the operation has ended or was handed over, there is nothing to give
// back.
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

// HandOver returns the bytes that Add has counted and gives them back. A cursor that outlives the
// operation counts them itself.
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

// Release gives all bytes back at the end of the operation.
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
