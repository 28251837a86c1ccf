package clock

import (
	"context"
	"sync"
	"time"
)

// WithTimeout returns a context that ends with context.DeadlineExceeded when d has passed on the
// clock, or when parent ends. The caller must call the function that it returns.
//
// For the computer's clock it is context.WithTimeout. For a Driver, the deadline of the context is
// the deadline of parent, because code compares deadlines with the computer's time.
func WithTimeout(parent context.Context, c Clock, d time.Duration) (context.Context, context.CancelFunc) {
	own, ok := c.(Driver)
	if !ok {
		return context.WithTimeout(parent, d)
	}
	t := &timeout{Context: parent, done: make(chan struct{})}
	if err := parent.Err(); err != nil {
		t.end(err)
	} else if d <= 0 {
		t.end(context.DeadlineExceeded)
	}
	timer := own.AfterFunc(d, func() { t.end(context.DeadlineExceeded) })
	unlink := context.AfterFunc(parent, func() { t.end(parent.Err()) })
	return t, func() {
		timer.Stop()
		unlink()
		t.end(context.Canceled)
	}
}

// timeout is a context with a timer of a Driver. It has the values of its parent.
type timeout struct {
	context.Context
	done chan struct{}

	mu  sync.Mutex
	err error
}

// end ends the context, unless it has ended.
func (t *timeout) end(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err == nil {
		t.err = err
		close(t.done)
	}
}

// Done implements context.Context.
func (t *timeout) Done() <-chan struct{} { return t.done }

// Err implements context.Context.
func (t *timeout) Err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}
