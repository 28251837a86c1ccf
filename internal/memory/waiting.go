package memory

// TryAdmit does the same as Admit, but does not wait. It reports whether the holding has n bytes.
// While other requests wait, it takes nothing.
func (h *Holding) TryAdmit(n int64) bool {
	if h.budget == nil || n < Step {
		return true
	}
	b := h.budget
	n = b.largest(n)
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.waiters) > 0 || !b.admits(n) {
		return false
	}
	b.requested.Add(n)
	h.held, h.admitted = n, true
	return true
}

// largest returns the number of bytes with which a request for n bytes is admitted.
func (b *Budget) largest(n int64) int64 { return min(n, b.limit/4*3) }

// Queue describes the requests that wait in Admit.
type Queue struct {
	// Admitted is the number of requests that hold a share now.
	Admitted int
	// Granted is the number of shares that were given since the start.
	Granted int64
	// First is the number of bytes that the first request in the queue wants. Missing is how many
	// of them the budget lacks.
	First, Missing int64
	// Pressed means that no request is admitted, even if the budget has room; see Press.
	Pressed bool
}

// Queue returns the state of the queue of Admit.
func (b *Budget) Queue() Queue {
	if b == nil {
		return Queue{}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	q := Queue{Admitted: b.admitted, Granted: b.granted, Pressed: b.pressed.Load()}
	if len(b.waiters) > 0 {
		limit := b.limit
		if b.admitted > 0 {
			limit /= 2
		}
		q.First = b.waiters[0].n
		q.Missing = max(0, b.used.Load()+q.First-limit)
	}
	return q
}
