// Package crashdisk simulates a disk in memory. Tests copy it in the state that a loss of power
// would leave.
//
// It is Pebble's crashable vfs.MemFS, made safe for copies while a store runs. A MemFS alone would
// hang: a copy takes a lock exclusively that readers share, and some operations take this lock
// twice. If a copy begins between the two, the copy waits for the operation, and the operation
// waits for the copy.
package crashdisk
