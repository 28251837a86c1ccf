package exec

import "sync/atomic"

// Processors keeps the parallel scans of a store from starting more goroutines than there are
// processors. A parallel scan counts its own goroutine with enter, and starts another one only if
// borrow succeeds. So many clients that scan at once get one goroutine each.
type Processors struct {
	total int32
	busy  atomic.Int32
}

// NewProcessors returns n processors, all of them idle.
func NewProcessors(n int) *Processors { return &Processors{total: int32(n)} }

// enter counts a goroutine that runs in any case, even if no processor is idle.
func (p *Processors) enter() { p.busy.Add(1) }

// borrow takes an idle processor. It returns false if no processor is idle.
func (p *Processors) borrow() bool {
	for {
		n := p.busy.Load()
		if n >= p.total {
			return false
		}
		if p.busy.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// leave returns a processor that enter or borrow has taken.
func (p *Processors) leave() { p.busy.Add(-1) }
