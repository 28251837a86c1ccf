package table

import (
	"testing"
	"time"
)

func TestLatencyClasses(t *testing.T) {
	t.Parallel()
	last := uint64(0)
	for class := range latencyBuckets {
		low := latencyBound(class)
		if class > 0 && low <= last {
			t.Errorf("class %d begins with %d, the one before with %d", class, low, last)
		}
		last = low
		if got := latencyClass(low); got != class {
			t.Errorf("%d microseconds are of class %d, not %d", low, class, got)
		}
		if low > 0 && latencyClass(low-1) != class-1 {
			t.Errorf("%d microseconds are of class %d, not %d", low-1, latencyClass(low-1), class-1)
		}
	}
	for class, low := range map[int]uint64{
		1: 2, 10: 1024, 11: 2048, 12: 3072, 13: 4096, 29: 1048576,
		30: 1572864, 31: 2097152, 50: 1 << 40,
	} {
		if got := latencyBound(class); got != low {
			t.Errorf("class %d begins with %d, not %d", class, got, low)
		}
	}
	if got := latencyClass(1 << 63); got != latencyBuckets-1 {
		t.Errorf("the longest durations are of class %d", got)
	}
}

func TestLatencies(t *testing.T) {
	t.Parallel()
	var l Latencies
	l.Add(LatencyReads, 3*time.Microsecond)
	l.Add(LatencyReads, 2*time.Microsecond)
	l.Add(LatencyReads, -time.Second)
	if ops, micros := l.Sum(LatencyReads); ops != 3 || micros != 5 {
		t.Errorf("%d operations of %d microseconds", ops, micros)
	}
	if ops, _ := l.Sum(LatencyWrites); ops != 0 {
		t.Errorf("%d writes", ops)
	}
	got := map[uint64]uint64{}
	l.Each(LatencyReads, func(micros, n uint64) { got[micros] = n })
	if len(got) != 2 || got[0] != 1 || got[2] != 2 {
		t.Error(got)
	}
}

func TestMergeLatencies(t *testing.T) {
	t.Parallel()
	var a, b, sum Latencies
	a.Add(LatencyReads, 3*time.Microsecond)
	b.Add(LatencyReads, 3*time.Microsecond)
	b.Add(LatencyWrites, time.Second)
	sum.Merge(&a)
	sum.Merge(&b)
	if ops, micros := sum.Sum(LatencyReads); ops != 2 || micros != 6 {
		t.Errorf("%d reads took %d microseconds", ops, micros)
	}
	if ops, micros := sum.Sum(LatencyWrites); ops != 1 || micros != 1_000_000 {
		t.Errorf("%d writes took %d microseconds", ops, micros)
	}
	sum.Each(LatencyReads, func(micros, count uint64) {
		if micros != 2 || count != 2 {
			t.Errorf("%d reads took from %d microseconds on", count, micros)
		}
	})
}
