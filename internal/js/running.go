package js

import "context"

// Running tells the functions of one command for which operation they run: a call ends when its operation does. A cursor
// has another operation for every batch. Only the one who runs the command or its cursor sets it, while nothing calls.
type Running struct{ ctx context.Context }

// Set changes the operation.
func (r *Running) Set(ctx context.Context) { r.ctx = ctx }

// Context returns the operation; that of a nil Running never ends.
func (r *Running) Context() context.Context {
	if r == nil || r.ctx == nil {
		return context.Background()
	}
	return r.ctx
}
