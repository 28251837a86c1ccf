package storage

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Stamp is the place of a change in the order of all changes that have one: seconds since 1970 in
// the upper half, a number within the second from 1 on in the lower half, as in a BSON timestamp.
type Stamp uint64

// NewStamp returns the stamp of a second and a number in it.
func NewStamp(seconds, number uint32) Stamp { return Stamp(uint64(seconds)<<32 | uint64(number)) }

// StampAt returns the first stamp of the second of a time. Seconds are those of an int32, as in
// MongoDB: a clock before 1970 or after 2038 gives the first or the last of them, behind which
// stamps still grow by their number.
func StampAt(t time.Time) Stamp { return NewStamp(uint32(min(max(t.Unix(), 0), math.MaxInt32)), 1) }

// Seconds returns the seconds since 1970.
func (s Stamp) Seconds() uint32 { return uint32(s >> 32) }

// Number returns the number within the second.
func (s Stamp) Number() uint32 { return uint32(s) }

// String returns the stamp as MongoDB's messages show timestamps.
func (s Stamp) String() string { return fmt.Sprintf("Timestamp(%d, %d)", s.Seconds(), s.Number()) }

// StampSize is how many bytes a stamp takes in a key.
const StampSize = 8

// Order gives stamps to commits. Commits that were given stamps become visible in any order;
// Visible is the stamp up to which all of them have, or have failed, so that who reads stamped keys
// up to there will never find a new one among them. A commit may be visible before it is safe, that
// is as durable as was asked; Safe is the stamp up to which all are. What a reader tells others for
// good, such as an event with a token to go on from, is not to be of a commit that the end of the
// process takes back, and whose stamp is given again. Engines have an Order; it is safe for
// concurrent use.
type Order struct {
	mu   sync.Mutex
	last Stamp
	// under are the commits under way by their stamps; the first has not ended, the first shown
	// ones are visible.
	under []commitUnder
	shown int

	visible, safe mark
}

type commitUnder struct {
	first, last    Stamp
	visible, ended bool
}

// mark is a stamp that grows. What is not atomic belongs to who has the lock.
type mark struct {
	at      atomic.Uint64
	arrived chan struct{} // nil while nobody waits
}

func (m *mark) raise(s Stamp) {
	if s <= Stamp(m.at.Load()) {
		return
	}
	m.at.Store(uint64(s))
	if m.arrived != nil {
		close(m.arrived)
		m.arrived = nil
	}
}

func (m *mark) arrival() <-chan struct{} {
	if m.arrived == nil {
		m.arrived = make(chan struct{})
	}
	return m.arrived
}

// Begin gives n consecutive stamps, none below least, to a commit that is about to become visible,
// and returns the first. End must follow.
func (o *Order) Begin(least Stamp, n int) Stamp {
	o.mu.Lock()
	defer o.mu.Unlock()
	first := max(o.last+1, least)
	o.last = first + Stamp(n) - 1
	o.under = append(o.under, commitUnder{first: first, last: o.last})
	return first
}

// Reveal says that the commit with that first stamp is visible, and not yet safe. End must follow,
// unless that will never be.
func (o *Order) Reveal(first Stamp) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.under[o.find(first)].visible = true
	o.raise()
}

// End says that the commit with that first stamp is visible and safe, or will never be visible.
func (o *Order) End(first Stamp) {
	o.mu.Lock()
	defer o.mu.Unlock()
	c := &o.under[o.find(first)]
	c.visible, c.ended = true, true
	o.raise()
}

func (o *Order) find(first Stamp) int {
	i, _ := slices.BinarySearchFunc(o.under, first,
		func(c commitUnder, first Stamp) int { return cmp.Compare(c.first, first) })
	return i
}

// raise lets the marks grow up to the first commits that are under way.
func (o *Order) raise() {
	for o.shown < len(o.under) && o.under[o.shown].visible {
		o.shown++
	}
	ended := 0
	for ended < o.shown && o.under[ended].ended {
		ended++
	}
	o.visible.raise(o.before(o.shown))
	o.safe.raise(o.before(ended))
	o.under, o.shown = slices.Delete(o.under, 0, ended), o.shown-ended
}

// before returns the stamp up to which everything lies before a commit under way.
func (o *Order) before(i int) Stamp {
	if i == len(o.under) {
		return o.last // Advance may have come meanwhile
	}
	return o.under[i].first - 1
}

// Advance lets later stamps be greater than s. It counts as visible as soon as no commit is under
// way.
func (o *Order) Advance(s Stamp) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if s <= o.last {
		return
	}
	o.last = s
	if o.shown == len(o.under) {
		o.visible.raise(s)
	}
	if len(o.under) == 0 {
		o.safe.raise(s)
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

// Visible returns the stamp up to which everything that was stamped can be read: by who takes a
// snapshot afterwards.
func (o *Order) Visible() Stamp { return Stamp(o.visible.at.Load()) }

// Safe returns the stamp up to which everything is visible and as durable as was asked.
func (o *Order) Safe() Stamp { return Stamp(o.safe.at.Load()) }

// Arrival returns a channel that is closed when Visible grows. Asked for before Visible, it misses
// nothing.
func (o *Order) Arrival() <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.visible.arrival()
}

// SafeArrival is Arrival for Safe.
func (o *Order) SafeArrival() <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.safe.arrival()
}
