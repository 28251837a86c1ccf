package torture

import (
	"os"
	"runtime"
	"runtime/debug"
	"testing"
)

// With a steady heap a test can measure processor time of up to 250 ms. The garbage collector runs
// only when Collect is called and the heap has grown to usualHeap. Otherwise it could run on the
// other processors during a measurement.
const (
	usualHeap   = 2<<30 + ballastParts*ballastPart
	touchedHeap = 4 << 30
	hardHeap    = 6<<30 + ballastParts*ballastPart
)

// SteadyHeap prepares the heap until the test ends. It takes 4 GiB of memory.
func SteadyHeap(t *testing.T) {
	t.Helper()
	b := newBallast()
	percent, limit := debug.SetGCPercent(-1), debug.SetMemoryLimit(hardHeap)
	t.Cleanup(func() {
		runtime.KeepAlive(b)
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	})
	touch(touchedHeap)
}

// Collect frees memory if a steady heap has grown. Call it between two measurements.
func Collect() {
	var stats runtime.MemStats
	if runtime.ReadMemStats(&stats); stats.HeapAlloc > usualHeap {
		runtime.GC()
	}
}

// ballast is heap memory that is never touched, so that the system does not provide it. Go's
// runtime returns memory to the system if it has more than 1.1 times the heap of the last
// collection. With the ballast it keeps 1.8 GiB more.
type ballast [ballastParts][]byte

const ballastParts, ballastPart = 3, 6 << 30

func newBallast() (b ballast) {
	for i := range b {
		b[i] = make([]byte, ballastPart)
	}
	return b
}

// touch makes the system provide n bytes of heap before a measurement, in large pages if possible.
// The first touch of a page takes time in the kernel. On some virtual machines it is 20 µs for 4
// KiB: 500 ms for a result of 100 MB.
func touch(n int) {
	b := make([]byte, n)
	largePages(b)
	for i := 0; i < n; i += os.Getpagesize() {
		b[i] = 1
	}
	runtime.KeepAlive(b)
	runtime.GC()
}
