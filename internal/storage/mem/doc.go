// Package mem is the reference storage engine. It keeps everything in memory, and is simple enough
// to be correct at a glance. Tests compare other engines with it. It also serves stores that do not
// need to outlive the process.
//
// Concepts:
//
//   - The committed state is one copy-on-write tree. A snapshot is a copy, which costs nothing
//     until one side changes.
//   - A snapshot transaction works on its own copy. A statement transaction collects its changes
//     and reads the newest tree through them.
//   - Package lock provides the locks. While a snapshot transaction is open, the engine remembers
//     which keys were changed.
//
// Invariants:
//
//  1. Engine.mu guards the tree and all other state of the engine. Commits run one at a time under
//     it.
//  2. Keys and values in a tree never change, so that readers borrow them without copying.
//  3. A tree that was given to a reader is never written again.
//
// The engine has no durability, no memory budget, and no copies on disk: Checkpoint with a
// directory returns an error.
package mem
