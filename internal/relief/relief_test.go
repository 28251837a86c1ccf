package relief

import (
	"runtime"
	"testing"
	"time"

	"github.com/sheafdb/sheaf/internal/session"
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

// TestSparedOperations checks that memory is freed by ending an operation, but not a spared one,
// although that one is older.
func TestSparedOperations(t *testing.T) {
	t.Parallel()
	f := newWaiterFixture(t, 1<<20)
	var spared, other session.Op
	for age, op := range map[time.Duration]*session.Op{2 * time.Hour: &spared, time.Hour: &other} {
		f.Ops.Add(op)
		op.Begin(t.Context(), f.Ops.TakeIDs(1), f.Clock.Now().Add(-age))
		defer op.Finish()
	}
	spared.SetInfo(func(info *session.OpInfo) { info.Spared = true })
	f.relieve()
	if spared.Err() != nil || other.Err() == nil {
		t.Errorf("the spared operation ends with %v, the other one with %v", spared.Err(), other.Err())
	}
}
