// Package mem is the reference storage engine: everything in memory, simple enough to be seen to be
// right. Tests compare other engines with it, and it serves stores that need not outlive the
// process.
//
// Concepts:
//
//   - The committed state is one copy-on-write tree. A snapshot is a copy, which costs nothing
//     until one side changes.
//   - A snapshot transaction works on its own copy; a statement transaction collects its changes
//     and reads the newest tree through them.
//   - Locks are those of package lock. Which keys changed is remembered for as long as any snapshot
//     transaction is open.
//
// Invariants:
//
//  1. Engine.mu guards the tree and everything beside it; commits run one at a time under it.
//  2. Keys and values in a tree are never changed, so that readers borrow them without copying.
//  3. A tree that was handed to a reader is never written again.
//
// It has no durability, no budget of memory, and no copies on disk: Checkpoint with a directory is
// refused.
package mem
