package exec

import "sync/atomic"

// Processors are those of the machine, as far as scans share them: a parallelScan counts its own goroutine in and lends
// others while there are fewer of them than processors. One value serves all scans of a store, so that many clients that
// scan at once get no more goroutines than they have.
type Processors struct {
	total int32
	busy  atomic.Int32
}

// NewProcessors returns a number of processors, all of them idle.
func NewProcessors(n int) *Processors { return &Processors{total: int32(n)} }

// enter counts a goroutine that would run anyway.
func (p *Processors) enter() { p.busy.Add(1) }

// borrow takes an idle processor, if there is one.
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

// leave gives back what enter or borrow has taken.
func (p *Processors) leave() { p.busy.Add(-1) }
