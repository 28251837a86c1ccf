package interrupt

import "context"

// Running names the operation that compiled code serves: a filter, an expression, a script. A
// cursor has another operation for every batch. Only the goroutine that runs the command or its
// cursor sets it, while nothing else uses it.
type Running struct{ ctx context.Context }

// Set changes the operation.
func (r *Running) Set(ctx context.Context) { r.ctx = ctx }

// Context returns the operation; the context of a nil Running never ends.
func (r *Running) Context() context.Context {
	if r == nil || r.ctx == nil {
		return context.Background()
	}
	return r.ctx
}

// Err returns why the operation ended, or nil while it may go on.
func (r *Running) Err() error {
	if r == nil || r.ctx == nil {
		return nil
	}
	return Cause(r.ctx)
}

// Cause returns why an operation ended, or nil while it may go on: killOp, maxTimeMS, a closed
// connection.
func Cause(ctx context.Context) error {
	err := ctx.Err()
	if err == nil {
		return nil
	}
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}
