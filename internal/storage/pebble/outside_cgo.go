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

// OutsideGo reports whether the block cache and the memtables are allocated outside of Go's heap.
// Go's memory limit does not count such memory.
const OutsideGo = true

// ReturnFreed makes C's allocator return a large block to the system when it is freed. By default
// glibc keeps blocks of up to 32 MiB, such as the blocks of large documents. Only a server should
// call it, because it changes the allocator of the whole process.
func ReturnFreed() { C.returnFreed() }
