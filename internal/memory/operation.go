package memory

import (
	"context"
	"sync"
	"sync/atomic"
)

// Operation is what one operation holds beside the holdings of its parts: the values that its expressions make, and lists that
// live as long as it does. It is safe for concurrent use; a nil one counts nothing.
type Operation struct {
	mu   sync.Mutex
	used atomic.Bool // something was counted
	held Holding
	sum  int64 // what Add has counted
	most int64 // the largest value
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

// Value counts a value of n bytes. Of all values the largest one counts, twice: while it is made, its parts are there, too.
// It fails with ExceededMemoryLimit.
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

// Release gives everything back at the end of the operation.
func (o *Operation) Release() {
	if !o.used.Load() {
		return
	}
	o.used.Store(false)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.sum, o.most = 0, 0
	if o.held.held > 0 {
		o.held.Release()
	}
}
