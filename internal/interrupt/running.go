package interrupt

import "context"

// Running is the operation for which compiled code runs: a filter, an expression or a script. A
// cursor sets another operation for every batch. Only the goroutine that runs the command or its
// cursor sets it, while no other goroutine uses it.
type Running struct{ ctx context.Context }

// Set changes the operation.
func (r *Running) Set(ctx context.Context) { r.ctx = ctx }

// Context returns the context of the operation. For a nil Running it returns a context that never
// ends.
func (r *Running) Context() context.Context {
	if r == nil || r.ctx == nil {
		return context.Background()
	}
	return r.ctx
}

// Err returns the reason why the operation ended, or nil if it still runs.
func (r *Running) Err() error {
	if r == nil || r.ctx == nil {
		return nil
	}
	return Cause(r.ctx)
}

// Cause returns the reason why an operation ended, such as killOp, maxTimeMS or a closed
// connection. It returns nil if the operation still runs.
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
