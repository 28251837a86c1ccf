// Package changelog maintains the oplog: it appends entries, trims the oldest entries, and gives
// access to earlier states.
//
// Concepts:
//
//   - A Log is the oplog, the records of local.oplog.rs. A record's key ends with the stamp that
//     the storage engine has assigned to its commit.
//   - A Transaction collects the operations of a multi-document transaction, for one entry or a
//     chain of entries.
//   - The History keeps recent snapshots: one for each half second in which something was changed.
//     To reach a time after a snapshot, Replay reads the oplog entries in between.
//   - An Activity counts the commits of a namespace, of a database or of the store. A Watch follows
//     an Activity, so that a change stream need not read the oplog while nothing happens there.
//
// Invariants:
//
//  1. An entry is in the same storage transaction as the change that it describes. Its stamp is the
//     stamp of the commit.
//  2. The counter of the entries is exact, or too large after a crash in a trim; never too small.
//  3. The newest entry is never trimmed, nor is an entry within the retention.
//  4. An Activity begins before its commit may be visible and ends after it. A reader that sees no
//     activity after a stamp misses no entry.
//  5. A Point that was acquired stays open until it is released.
//
// The package does not apply entries to collections: package table applies the entries that Replay
// returns. The format of entries is in package oplog.
//
// A new kind of entry gets a method of Log, like Command and Noop. It also needs a case where
// package table applies entries (past.go) and where package changestream turns them into events.
package changelog
