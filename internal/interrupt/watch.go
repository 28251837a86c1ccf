package interrupt

// Watch counts the work of a task and remembers why its operation ended. Once it has, loops end
// early, and what they made is of no use. The zero Watch never ends. A Watch belongs to one
// goroutine.
type Watch struct {
	// Running is the operation; nil never ends.
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
