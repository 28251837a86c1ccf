package engine

import (
	"runtime/debug"
	"strconv"
	"sync"
)

// maxStack is the size of a goroutine's stack at which Go ends the process. Go accepts no larger
// one. A write to an object calls a function for each object in its chain of prototypes. That
// takes up to 300 bytes of stack, and the object some 200 bytes of the heap. So the heap that a
// call may take, maxHeapGrowth and maxGarbage, makes a stack of at most 1 GiB: stacks double.
// Go's default limit of 1 GB does not allow that.
const maxStack = 2_000_000_000

// allowDeepStacks raises Go's limit for the process once, unless it is higher.
var allowDeepStacks = sync.OnceFunc(func() {
	if strconv.IntSize < 64 {
		return // a process of 32 bits has no memory for such a chain
	}
	if before := debug.SetMaxStack(maxStack); before > maxStack {
		debug.SetMaxStack(before)
	}
})
