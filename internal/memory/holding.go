package memory

import "context"

// Step is the smallest amount that a holding takes, in bytes.
const Step = 64 << 10

// Holding is the part of a budget that one holder has. The zero Holding has no budget. Only one
// goroutine at a time may use it.
type Holding struct {
	budget *Budget
	held   int64
	// admitted means that Admit filled the holding.
	admitted bool
}

// Hold returns an empty holding of the budget, which may be nil.
func (b *Budget) Hold() Holding { return Holding{budget: b} }

// Admit waits for a share of n bytes until ctx ends. It fails with ExceededMemoryLimit if ctx ends
// by a deadline or with the cause context.DeadlineExceeded. Only a request that holds nothing may
// call it. A share is at most three quarters of the budget: a larger n is reduced.
func (h *Holding) Admit(ctx context.Context, n int64) error {
	if h.budget == nil || n < Step {
		return nil
	}
	n = h.budget.largest(n)
	if err := h.budget.admit(ctx, n); err != nil {
		return err
	}
	h.held, h.admitted = n, true
	return nil
}

// Hold makes the holding cover n bytes. A holding that already has more keeps it. Hold fails if the
// budget has too little.
func (h *Holding) Hold(n int64) error {
	if n <= h.held || h.budget == nil {
		return nil
	}
	more := roundUp(n - h.held)
	switch {
	case more == 0:
		return nil
	case !h.budget.ask(more):
		return h.budget.exceeded(more)
	}
	h.held += more
	return nil
}

// Spare does the same as Fits for optional memory, such as a longer batch. It leaves half of the
// budget to required memory.
func (h *Holding) Spare(n int64) bool {
	if n <= h.held || h.budget == nil {
		return true
	}
	more := roundUp(n - h.held)
	if more > 0 && !h.budget.spare(more) {
		return false
	}
	h.held += more
	return true
}

// Fits does the same as Hold, but reports whether the holding covers n bytes and returns no error.
// It is for a holder that can work with less memory, such as a sort that spills.
func (h *Holding) Fits(n int64) bool {
	if n <= h.held || h.budget == nil {
		return true
	}
	more := roundUp(n - h.held)
	if more > 0 && !h.budget.ask(more) {
		return false
	}
	h.held += more
	return true
}

// Force makes the holding cover n bytes, even beyond the limit. It is for memory that is already
// allocated, and for work that must not fail.
func (h *Holding) Force(n int64) {
	if n <= h.held || h.budget == nil {
		return
	}
	more := roundUp(n - h.held)
	h.budget.force(more)
	h.held += more
}

// Shrink gives back the bytes that the holding has beyond n.
func (h *Holding) Shrink(n int64) {
	if n = max(n, 0); h.held > n {
		h.budget.give(h.held - n)
		h.held = n
	}
}

// Release gives all bytes back. The holding may be used again.
func (h *Holding) Release() {
	h.Shrink(0)
	if h.admitted {
		h.admitted = false
		h.budget.readmit()
	}
}

// Beyond returns how many of n bytes the holding does not cover. Hold takes nothing for less than a
// Step, so that even after Hold a small rest is not covered.
func (h *Holding) Beyond(n int64) int64 { return max(0, n-h.held) }

// Held returns how many bytes the holding has.
func (h *Holding) Held() int64 { return h.held }

// roundUp returns how many bytes to take for n more bytes: none if n is less than a step, otherwise
// whole steps.
func roundUp(n int64) int64 {
	if n < Step {
		return 0
	}
	return (n + Step - 1) / Step * Step
}
