// Package lock keeps who may write what: a Table of exclusive locks on keys, and a History of which
// keys the latest commits changed. Storage engines use both to give the transactions that package
// storage promises.
//
// Concepts:
//
//   - A key is known by a seeded 64-bit hash of its bytes. Two keys of one hash share a lock: a
//     needless wait or conflict once in 2^64 pairs, and nobody outside can search for such pairs.
//     Thus neither locking nor recording copies a key or allocates.
//   - An Owner is what a transaction holds locks by. It waits for at most one lock at a time.
//   - A lock has one owner and a queue of waiters, served in the order of their arrival: the lock
//     is handed over, never put up for grabs, so that no writer starves.
//   - A wait that would close a cycle of waiting owners is refused at once. Every cycle has a last
//     edge; waits are registered one after the other under one mutex, so that whoever adds that
//     edge sees the whole cycle.
//   - The History numbers commits. A snapshot transaction learns the number when it begins; a key
//     whose last change has a greater number was changed after that. Nothing is recorded while no
//     snapshot transaction is open.
//
// Invariants:
//
//  1. A shard's mutex is held for a few map operations only, never while waiting.
//  2. Order of mutexes: Table.waits before a shard's.
//  3. An Owner is used by one goroutine; only granting a lock touches it from another.
//  4. History.Begin comes before the snapshot is taken, History.Record after the commit is visible
//     and before its locks are released. Then a change that the snapshot lacks is always found; a
//     change that was being committed while the snapshot was taken may be reported although the
//     snapshot has it.
//
// It does not know about values, durability or time; deadlines come in by a context.
package lock
