package engine

import (
	"runtime/debug"
	"strconv"
	"sync"
)

// maxStack is the size of a goroutine's stack at which Go ends the process. Go accepts no larger
// limit.
//
// A write to an object calls a function for each object in its prototype chain. Each call takes up
// to 300 bytes of stack, and each object about 200 bytes of heap. Stacks grow by doubling. So the
// heap limits of a call, maxHeapGrowth and maxGarbage, allow a stack of at most 1 GiB. Go's default
// limit of 1 GB is too small for that.
const maxStack = 2_000_000_000

// allowDeepStacks raises Go's limit for the process once, unless it is already higher.
var allowDeepStacks = sync.OnceFunc(func() {
	if strconv.IntSize < 64 {
		return // a 32-bit process does not have the memory for such a chain
	}
	if before := debug.SetMaxStack(maxStack); before > maxStack {
		debug.SetMaxStack(before)
	}
})
