package storage

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
)

// Stamp is the place of a change in the order of all changes that have one: seconds since 1970 in the upper half, a
// number within the second from 1 on in the lower half, as in a BSON timestamp.
type Stamp uint64

// NewStamp returns the stamp of a second and a number in it.
func NewStamp(seconds, number uint32) Stamp { return Stamp(uint64(seconds)<<32 | uint64(number)) }

// Seconds returns the seconds since 1970.
func (s Stamp) Seconds() uint32 { return uint32(s >> 32) }

// Number returns the number within the second.
func (s Stamp) Number() uint32 { return uint32(s) }

// StampSize is how many bytes a stamp takes in a key.
const StampSize = 8

// Order gives stamps to commits. Commits that were given stamps become visible in any order; Visible is the stamp up to which
// all of them have, or have failed, so that who reads stamped keys up to there will never find a new one among them. Engines
// have one; it is safe for concurrent use.
type Order struct {
	mu   sync.Mutex
	last Stamp
	// under are the commits under way by their stamps; the first has not ended.
	under []commitUnder

	visible atomic.Uint64
	arrived chan struct{} // nil while nobody waits
}

type commitUnder struct {
	first, last Stamp
	ended       bool
}

// Begin gives n consecutive stamps, none below least, to a commit that is about to become visible, and returns the first.
// End must follow.
func (o *Order) Begin(least Stamp, n int) Stamp {
	o.mu.Lock()
	defer o.mu.Unlock()
	first := max(o.last+1, least)
	o.last = first + Stamp(n) - 1
	o.under = append(o.under, commitUnder{first: first, last: o.last})
	return first
}

// End says that the commit with that first stamp is visible, or will never be.
func (o *Order) End(first Stamp) {
	o.mu.Lock()
	defer o.mu.Unlock()
	i := slices.IndexFunc(o.under, func(c commitUnder) bool { return c.first == first })
	o.under[i].ended = true
	if i > 0 {
		return
	}
	n := slices.IndexFunc(o.under, func(c commitUnder) bool { return !c.ended })
	if n < 0 {
		o.under = o.under[:0]
		o.visible.Store(uint64(o.last)) // Advance may have come meanwhile
	} else {
		o.visible.Store(uint64(o.under[n-1].last))
		o.under = slices.Delete(o.under, 0, n)
	}
	if o.arrived != nil {
		close(o.arrived)
		o.arrived = nil
	}
}

// Advance lets later stamps be greater than s. It counts as visible as soon as no commit is under way.
func (o *Order) Advance(s Stamp) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if s <= o.last {
		return
	}
	o.last = s
	if len(o.under) == 0 {
		o.visible.Store(uint64(s))
	}
}

// Take uses up a stamp, not below least, that no commit has, and returns it.
func (o *Order) Take(least Stamp) Stamp {
	stamp := o.Begin(least, 1)
	o.End(stamp)
	return stamp
}

// Last returns the greatest stamp that was given or advanced to; it may not be visible yet.
func (o *Order) Last() Stamp {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.last
}

// Visible returns the stamp up to which everything that was stamped can be read: by who takes a snapshot afterwards.
func (o *Order) Visible() Stamp { return Stamp(o.visible.Load()) }

// Arrival returns a channel that is closed when Visible grows by a commit. Asked for before Visible, it misses nothing.
func (o *Order) Arrival() <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.arrived == nil {
		o.arrived = make(chan struct{})
	}
	return o.arrived
}

// StampKey is the context key of the StampObserver that wants to know of the stamps of commits made under the context.
type StampKey struct{}

// StampObserver learns which stamp a commit was given.
type StampObserver interface{ Stamped(Stamp) }

// ReportStamp tells the context's observer, if it has one, the stamp of a commit. Who commits stamped writes for a client calls
// it afterwards: the greatest stamp is what the client learns as the time of its operation.
func ReportStamp(ctx context.Context, s Stamp) {
	if s == 0 {
		return
	}
	if o, ok := ctx.Value(StampKey{}).(StampObserver); ok {
		o.Stamped(s)
	}
}
