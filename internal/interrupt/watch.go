package interrupt

// Watch counts the work of a task, and keeps the reason why its operation ended. After that, loops
// stop early, and their results must not be used. The zero Watch never ends. A Watch belongs to one
// goroutine.
type Watch struct {
	// Running is the operation. A nil Running never ends.
	Running *Running

	meter Meter
	ended error
}

// Stopped counts work and reports whether the operation has ended.
func (w *Watch) Stopped(work int) bool {
	if w.ended == nil {
		w.ended = w.meter.Did(work, w.Running)
	}
	return w.ended != nil
}

// Ended returns the reason why the operation ended, or nil while it runs.
func (w *Watch) Ended() error { return w.ended }
