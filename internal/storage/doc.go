// Package storage is the interface between Sheaf and the engine that stores its bytes: an ordered
// map from byte keys to byte values, with snapshots, transactions and conflict detection. Packages
// that use storage do not know which Engine runs.
//
// Concepts:
//
//   - A Snapshot is an unchanging view of the state that was committed when it was taken.
//   - A statement transaction (Engine.Begin) reads the newest committed state. The caller locks a
//     key before it changes the key. Lock waits for other holders, and the transaction holds its
//     locks until it ends. Every single write uses one.
//   - A snapshot transaction (Engine.BeginSnapshot) reads one snapshot and its own writes. Lock
//     fails with ErrConflict immediately if another transaction holds the lock, or has changed the
//     key since the snapshot.
//   - A Stamp is a position in the order of commits. The oplog uses it: a commit stores values
//     under keys that end with its stamp. See Order.
//   - A counter is a key whose value is a pair of sums. Add is commutative: it takes no lock and
//     never conflicts.
//
// Invariants:
//
//  1. A commit is atomic, and visible to every Snapshot taken after Commit returns.
//  2. When Commit returns nil, the writes survive the death of the process; with Durable they
//     survive a loss of power, too. Concurrent durable commits share one fsync. Deferred commits
//     survive a loss of power after the next Sync.
//  3. Two committed transactions never overlap in a key that both locked: lock, read, write and
//     commit are atomic together.
//  4. An engine copies the keys and values that it is given before the call returns. Keys and
//     values that it returns are borrowed: they are valid until the next call on the same
//     iterator, or until the Closer of a Get is closed.
//  5. If Commit or DeleteRange returns an error, none of its changes becomes visible.
//     ErrFailed is the exception: the changes may or may not have happened.
//  6. Damage is an error that names the file, and for which IsCorruption reports true. It is never
//     a wrong or a missing value.
//
// The package does not know documents, collections or indexes: see package table.
//
// To add an engine: implement Engine in a folder beside storage/mem, and run storage/storagetest,
// the suite that all engines pass.
package storage
