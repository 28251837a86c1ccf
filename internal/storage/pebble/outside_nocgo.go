//go:build !cgo

package pebble

// OutsideGo says that the block cache and the memtables are allocated outside of Go's heap, where
// its memory limit does not count them.
const OutsideGo = false

// ReturnFreed does nothing: Go returns what is freed.
func ReturnFreed() {}
