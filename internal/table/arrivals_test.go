package table

import (
	"testing"
	"time"
)

func woken(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// TestArrivals wakes waiters at once where it is quiet, and all that came while they rested at the end of the rest.
func TestArrivals(t *testing.T) {
	t.Parallel()
	var a arrivals
	a.announce() // nobody waits
	first, _ := a.wait()
	if again, _ := a.wait(); again != first {
		t.Error("two waiters have two channels")
	}
	if woken(first) {
		t.Error("woken before something arrived")
	}
	for range 1000 {
		a.wait() // they rest as long as it may be
	}
	a.announce()
	if !woken(first) {
		t.Error("not woken at once")
	}
	second, _ := a.wait()
	a.announce()
	a.announce()
	select {
	case <-second:
	case <-time.After(10 * time.Second):
		t.Fatal("never woken after a rest")
	}
	if third, _ := a.wait(); woken(third) {
		t.Error("woken twice by the same arrivals")
	}
}

// TestArrivalsWhileNobodyWaits forgets what arrived in a rest that nobody waits in: who waits later looks first.
func TestArrivalsWhileNobodyWaits(t *testing.T) {
	t.Parallel()
	var a arrivals
	a.wait()
	a.announce()
	a.announce()
	a.rested()
	c, _ := a.wait()
	if woken(c) {
		t.Error("woken by what had arrived before")
	}
	a.announce()
	if !woken(c) {
		t.Error("not woken")
	}
}

// TestArrivalsRest lets who comes back while the others rest wait for the end of the rest, if there is something to wait for.
func TestArrivalsRest(t *testing.T) {
	t.Parallel()
	var quiet arrivals
	quiet.count.Store(3)
	if quiet.rest(2) != nil {
		t.Error("a rest where it is quiet")
	}
	a := arrivals{resting: true}
	a.count.Store(3)
	if a.rest(3) != nil {
		t.Error("a rest for who has seen everything")
	}
	over := a.rest(2)
	if over == nil || woken(over) {
		t.Fatal("no rest where others were woken just now")
	}
	a.rested()
	if !woken(over) {
		t.Error("not woken at the end of the rest")
	}
}
