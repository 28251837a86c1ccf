package sheaf_test

import (
	"testing"

	"github.com/sheafdb/sheaf"
)

// TestReliefLimit: a process with a small limit can still use the memory that one large request
// needs, except in a container that has less memory.
func TestReliefLimit(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	for _, c := range []struct {
		name                     string
		process, requests, group int64
		want                     int64
	}{
		{"no limit", 0, 64, 0, 0},
		{"smaller than a large request", 12, 64, 0, 80},
		{"requests have less", 12, 20, 0, 36},
		{"larger than a large request", 192, 96, 0, 192},
		{"large requests", 192, 500, 0, 192},
		{"a container without room", 12, 64, 64, 32},
		{"a container with less than the limit", 48, 64, 64, 48},
		{"a container with room", 12, 64, 512, 80},
	} {
		o := &sheaf.Options{ProcessMemory: c.process * mib, RequestMemory: c.requests * mib}
		if got := sheaf.ReliefLimit(o, c.group*mib); got != c.want*mib {
			t.Errorf("%s: %d MiB, not %d", c.name, got/mib, c.want)
		}
	}
	if got := sheaf.ReliefLimit(&sheaf.Options{ProcessMemory: mib, RequestMemory: -1}, 0); got != mib {
		t.Errorf("requests without a bound: %d bytes", got)
	}
}
