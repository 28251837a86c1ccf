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
	first := a.wait()
	if again := a.wait(); again != first {
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
	second := a.wait()
	a.announce()
	a.announce()
	select {
	case <-second:
	case <-time.After(10 * time.Second):
		t.Fatal("never woken after a rest")
	}
	if woken(a.wait()) {
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
	c := a.wait()
	if woken(c) {
		t.Error("woken by what had arrived before")
	}
	a.announce()
	if !woken(c) {
		t.Error("not woken")
	}
}
