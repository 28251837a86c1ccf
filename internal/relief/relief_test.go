package relief

import (
	"runtime"
	"testing"
	"time"
)

// TestUntilCheck checks the wait before the next check of the memory: the time in which all
// processors together could allocate the free memory, within bounds.
func TestUntilCheck(t *testing.T) {
	second := allocationRate * int64(runtime.GOMAXPROCS(0)) // the bytes that are allocated in a second
	for _, c := range []struct {
		free int64
		want time.Duration
	}{
		{-second, reliefInterval},
		{0, reliefInterval},
		{second / 10, 100 * time.Millisecond},
		{second, calmInterval},
		{100 * second, calmInterval},
	} {
		if got := untilCheck(c.free); got.Round(time.Millisecond) != c.want {
			t.Errorf("%d bytes are free: %v, not %v", c.free, got, c.want)
		}
	}
}
