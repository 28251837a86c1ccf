// Package spill stores on disk the data of operations that have reached their memory limit.
//
// Concepts:
//
//   - Runs are sorted runs of keys with payloads. A Merge reads them back in order.
//   - A Deque holds numbered documents; old documents are removed at the front.
//   - A Set stores which byte strings were added before.
//   - A File is written once and then read.
//
// Invariants:
//
//  1. A structure creates its file when it first writes. Close removes the file.
//  2. Reading returns exactly the bytes that were written, or an error; see package tempfile.
//  3. The holding that the caller passes accounts for the buffers and for the data that is read
//     back.
//
// The package does not decide when to write: its callers count the memory that they use. To store
// another structure on disk, add a file with its type. Also add a command that reaches it to
// internal/crashtest/spilldamage_linux_test.go.
package spill
