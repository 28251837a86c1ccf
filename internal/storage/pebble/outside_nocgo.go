//go:build !cgo

package pebble

// OutsideGo reports whether the block cache and the memtables are allocated outside of Go's heap.
// Go's memory limit does not count such memory.
const OutsideGo = false

// ReturnFreed does nothing, because Go itself returns freed memory.
func ReturnFreed() {}
