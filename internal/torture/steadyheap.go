package torture

import (
	"os"
	"runtime"
	"runtime/debug"
	"testing"
)

// A steady heap lets a test measure processor time of 250 ms at most. The garbage collector runs
// only when Collect is called and the heap has grown to usualHeap: it would work on the other
// processors while something is measured.
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

// ballast is memory of the heap that is never touched, so that the system gives none for it. Go's
// runtime returns memory to the system when it has more than 1.1 times what the heap held at the
// last collection. With the ballast it keeps 1.8 GiB more.
type ballast [ballastParts][]byte

const ballastParts, ballastPart = 3, 6 << 30

func newBallast() (b ballast) {
	for i := range b {
		b[i] = make([]byte, ballastPart)
	}
	return b
}

// touch makes the system give the heap n bytes before anything is measured, in large pages where it
// can. A page that a process touches for the first time takes time of the kernel, on some virtual
// machines 20 µs for 4 KiB: 500 ms for a result of 100 MB.
func touch(n int) {
	b := make([]byte, n)
	largePages(b)
	for i := 0; i < n; i += os.Getpagesize() {
		b[i] = 1
	}
	runtime.KeepAlive(b)
	runtime.GC()
}
