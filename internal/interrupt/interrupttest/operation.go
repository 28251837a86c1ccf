package interrupttest

import (
	"context"
	"errors"
)

// ErrEnded is the error of an Operation that has ended.
var ErrEnded = errors.New("ended")

// Operation is a context that counts the calls of Err. It belongs to one goroutine.
type Operation struct {
	context.Context
	// Looks is the number of calls so far.
	Looks int

	ends bool
	last int // the number of the last call that returns nil, if the operation ends
}

// New returns an operation that never ends.
func New(ctx context.Context) *Operation { return &Operation{Context: ctx} }

// EndAfter returns an operation that ends after n looks.
func EndAfter(ctx context.Context, n int) *Operation {
	o := New(ctx)
	o.EndAfter(n)
	return o
}

// EndAfter makes the operation end after n more checks.
func (o *Operation) EndAfter(n int) { o.ends, o.last = true, o.Looks+n }

// Err implements context.Context.
func (o *Operation) Err() error {
	if o.Looks++; o.ends && o.Looks > o.last {
		return ErrEnded
	}
	return nil
}
