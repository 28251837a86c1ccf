// Package spill keeps on the disk what an operation that reached its memory limit has gathered.
//
// Concepts:
//
//   - Runs are sorted runs of keys with payloads. A Merge reads them back in order.
//   - A Deque keeps numbered documents, of which old ones leave at the front.
//   - A Set knows which byte strings were added before.
//   - A File is written once and then read.
//
// Invariants:
//
//  1. Nothing has a file before something is written to it. Close removes the file.
//  2. What is read is what was written, or an error; see package tempfile.
//  3. Buffers, and what is read back, count in the holding that the caller gives.
//
// The package does not decide when to write: its callers count what they keep in memory. To keep
// another structure on the disk, add a file with its type, and a command that reaches it to
// internal/crashtest/spilldamage_linux_test.go.
package spill
