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

// Stamp is the position of a change in the order of all stamped changes. The upper half is seconds
// since 1970. The lower half is a number within the second, starting at 1, as in a BSON timestamp.
type Stamp uint64

// NewStamp returns the stamp for a second and a number within the second.
func NewStamp(seconds, number uint32) Stamp { return Stamp(uint64(seconds)<<32 | uint64(number)) }

// StampAt returns the first stamp of the second of a time. Seconds have the range of an int32, as
// in MongoDB. A clock before 1970 or after 2038 gives the first or the last second, and stamps then
// grow only by their number.
func StampAt(t time.Time) Stamp { return NewStamp(uint32(min(max(t.Unix(), 0), math.MaxInt32)), 1) }

// Seconds returns the seconds since 1970.
func (s Stamp) Seconds() uint32 { return uint32(s >> 32) }

// Number returns the number within the second.
func (s Stamp) Number() uint32 { return uint32(s) }

// String returns the stamp in the form of MongoDB's messages.
func (s Stamp) String() string { return fmt.Sprintf("Timestamp(%d, %d)", s.Seconds(), s.Number()) }

// StampSize is the number of bytes of a stamp in a key.
const StampSize = 8

// Order gives stamps to commits. It is safe for concurrent use, and each engine has one.
//
// Stamped commits may become visible in any order. Visible is the stamp up to which all commits are
// visible or have failed. A reader that reads stamped keys up to Visible never misses one that
// appears later.
//
// A commit may be visible before it is safe, which means as durable as its caller asked. Safe is
// the stamp up to which all commits are safe. A change stream must not send an event with a resume
// token before the commit is safe: if the process ends, the commit may be lost and its stamp given
// to another one.
type Order struct {
	mu   sync.Mutex
	last Stamp
	// under lists the commits in progress, in the order of their stamps. The first one has not
	// ended.
	under []commitUnder
	// shown is the number of commits at the beginning of under that are visible.
	shown int

	visible, safe mark
}

type commitUnder struct {
	first, last    Stamp
	visible, ended bool
}

// mark is a stamp that grows. The lock guards its fields that are not atomic.
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

// Begin gives n consecutive stamps, none less than least, to a commit that is about to become
// visible. It returns the first stamp. The caller must call End afterwards.
func (o *Order) Begin(least Stamp, n int) Stamp {
	o.mu.Lock()
	defer o.mu.Unlock()
	first := max(o.last+1, least)
	o.last = first + Stamp(n) - 1
	o.under = append(o.under, commitUnder{first: first, last: o.last})
	return first
}

// Reveal records that the commit with the stamp first is visible but not yet safe. The caller must
// call End when it is safe. A commit that never becomes safe gets no End.
func (o *Order) Reveal(first Stamp) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.under[o.find(first)].visible = true
	o.raise()
}

// End records that the commit with the stamp first is visible and safe, or will never be visible.
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

// raise moves the marks visible and safe up to the first commits in progress that are not visible
// or not safe.
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

// before returns the last stamp before the i-th commit in progress.
func (o *Order) before(i int) Stamp {
	if i == len(o.under) {
		return o.last // Advance may have been called meanwhile
	}
	return o.under[i].first - 1
}

// Advance makes later stamps greater than s. s counts as visible as soon as no commit is in
// progress.
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

// Take returns a stamp that no commit has or will get. It is at least least.
func (o *Order) Take(least Stamp) Stamp {
	stamp := o.Begin(least, 1)
	o.End(stamp)
	return stamp
}

// Last returns the greatest stamp given or advanced to. Its commit may not be visible yet.
func (o *Order) Last() Stamp {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.last
}

// Visible returns the stamp up to which all stamped changes are visible to a snapshot taken
// afterwards.
func (o *Order) Visible() Stamp { return Stamp(o.visible.at.Load()) }

// Safe returns the stamp up to which all commits are visible and as durable as their callers asked.
func (o *Order) Safe() Stamp { return Stamp(o.safe.at.Load()) }

// Arrival returns a channel that is closed when the result of Visible grows. Call Arrival before
// Visible, so that no growth is missed.
func (o *Order) Arrival() <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.visible.arrival()
}

// SafeArrival returns a channel that is closed when the result of Safe grows. Call SafeArrival
// before Safe, so that no growth is missed.
func (o *Order) SafeArrival() <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.safe.arrival()
}
