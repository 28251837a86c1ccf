package arrival

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

// TestArrivals checks that waiters are woken at once if the signal does not rest, and otherwise at
// the end of the rest.
func TestArrivals(t *testing.T) {
	t.Parallel()
	var a Signal
	a.Announce() // nobody waits
	first, _ := a.Wait()
	if again, _ := a.Wait(); again != first {
		t.Error("two waiters have two channels")
	}
	if woken(first) {
		t.Error("woken before something arrived")
	}
	for range 1000 {
		a.Wait() // more waiters, for the longest rest
	}
	a.Announce()
	if !woken(first) {
		t.Error("not woken at once")
	}
	second, _ := a.Wait()
	a.Announce()
	a.Announce()
	select {
	case <-second:
	case <-time.After(10 * time.Second):
		t.Fatal("never woken after a rest")
	}
	if third, _ := a.Wait(); woken(third) {
		t.Error("woken twice by the same arrivals")
	}
}

// TestArrivalsWhileNobodyWaits checks that an arrival during a rest without waiters does not wake a
// later waiter. A waiter looks for data before it waits.
func TestArrivalsWhileNobodyWaits(t *testing.T) {
	t.Parallel()
	var a Signal
	a.Wait()
	a.Announce()
	a.Announce()
	a.rested()
	c, _ := a.Wait()
	if woken(c) {
		t.Error("woken by what had arrived before")
	}
	a.Announce()
	if !woken(c) {
		t.Error("not woken")
	}
}

// TestArrivalsRest checks that a waiter that returns during a rest waits for its end, if something
// has arrived.
func TestArrivalsRest(t *testing.T) {
	t.Parallel()
	var quiet Signal
	quiet.count.Store(3)
	if quiet.Rest(2) != nil {
		t.Error("a rest where it is quiet")
	}
	a := Signal{resting: true}
	a.count.Store(3)
	if a.Rest(3) != nil {
		t.Error("a rest for who has seen everything")
	}
	over := a.Rest(2)
	if over == nil || woken(over) {
		t.Fatal("no rest where others were woken just now")
	}
	a.rested()
	if !woken(over) {
		t.Error("not woken at the end of the rest")
	}
}
