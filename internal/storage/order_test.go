package storage

import (
	"math"
	"testing"
	"time"
)

// TestStampsOfAnyClock gives stamps by a clock that jumps over centuries. They must grow, and their
// seconds must fit into an int32.
func TestStampsOfAnyClock(t *testing.T) {
	t.Parallel()
	var o Order
	var last Stamp
	for _, year := range []int{2024, 1900, 1969, 2025, 1970, 2200, 2024, 2037, 2500, 1601, 9999} {
		at := StampAt(time.Date(year, 6, 1, 0, 0, 0, 0, time.UTC))
		if at.Seconds() > math.MaxInt32 {
			t.Errorf("%d: %d seconds", year, at.Seconds())
		}
		first := o.Begin(at, 3)
		o.End(first)
		if first <= last || first.Seconds() > math.MaxInt32 {
			t.Errorf("%d: %x after %x", year, first, last)
		}
		if last = first + 2; o.Visible() != last {
			t.Errorf("%d: visible is %x, want %x", year, o.Visible(), last)
		}
	}
}
