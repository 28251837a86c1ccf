// Package lock has a Table of exclusive locks on keys, and a History of the keys that the latest
// commits changed. Storage engines use both to implement the transactions of package storage.
//
// Concepts:
//
//   - A key is identified by a seeded 64-bit hash of its bytes, so that neither locking nor
//     recording copies a key or allocates. Two keys with the same hash share a lock. That causes a
//     needless wait or conflict for one pair in 2^64. Clients cannot search for such pairs, because
//     they do not know the seed.
//   - An Owner holds the locks of a transaction. It waits for at most one lock at a time.
//   - A lock has one owner and a queue of waiters. It is handed to the waiters in the order of
//     their arrival, so that no writer starves.
//   - A wait that would close a cycle of waiting owners is refused immediately. Waits are
//     registered one after another under one mutex, so that the wait that closes a cycle sees the
//     whole cycle.
//   - The History numbers commits. A snapshot transaction gets the current number when it begins. A
//     key whose last change has a greater number was changed after that. While no snapshot
//     transaction is open, nothing is recorded.
//
// Invariants:
//
//  1. A shard's mutex is held only for a few map operations, never while waiting.
//  2. Table.waits is locked before a shard's mutex.
//  3. An Owner is used by one goroutine. Another goroutine touches it only to grant a lock.
//  4. History.Begin is called before the snapshot is taken. History.Record is called after the
//     commit is visible and before its locks are released. So every change that the snapshot lacks
//     is found. A change that was being committed while the snapshot was taken may be reported
//     even if the snapshot has it.
//
// The package does not know values or durability. A context sets the deadline of a wait.
package lock
