package command

import (
	"runtime"
	"testing"
	"time"
)

// TestUntilCheck: memory is checked before it can be full, and not more often than that.
func TestUntilCheck(t *testing.T) {
	second := allocationRate * int64(runtime.GOMAXPROCS(0)) // what is allocated in it
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
