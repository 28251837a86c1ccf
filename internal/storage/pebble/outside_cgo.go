//go:build cgo

package pebble

/*
#ifdef __linux__
#include <malloc.h>
#endif

#ifdef __GLIBC__
static void returnFreed(void) {
	mallopt(M_MMAP_THRESHOLD, 256 << 10);
	mallopt(M_ARENA_MAX, 2);
}
#else
static void returnFreed(void) {}
#endif
*/
import "C"

// OutsideGo says that the block cache and the memtables are allocated outside of Go's heap, where its memory limit does not
// count them.
const OutsideGo = true

// ReturnFreed makes the allocator of C return large blocks to the system when they are freed. By
// default glibc keeps blocks of up to 32 MiB, which the blocks of large documents are. It is for
// programs that are a server, because it changes the whole process.
func ReturnFreed() { C.returnFreed() }
