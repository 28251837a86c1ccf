// Package crashdisk is a disk in memory. Tests copy it in the state that a loss of power would
// leave.
//
// It is Pebble's crashable vfs.MemFS, for copies that are taken while a store is at work. A MemFS
// alone would hang: while it is copied, it keeps changes away by a lock that readers share, and
// some of its operations take this lock twice. A copy that begins between the two waits for the
// operation, and the operation waits for the copy.
package crashdisk
