// Package changelog keeps the oplog: it appends entries, trims the oldest, and reads what was.
//
// Concepts:
//
//   - A Log is the oplog, the records of local.oplog.rs. A record's key ends with the stamp that
//     its commit got from storage.
//   - A Transaction collects the operations of a multi-document transaction, for one entry or a
//     chain.
//   - The History keeps a snapshot of every half second of late in which something was changed.
//     What happened between a snapshot and a time comes from the log; see Replay.
//   - An Activity counts the commits of a namespace, of a database or of the store. A Watch follows
//     one, so that a change stream need not read the log while nothing happens there.
//
// Invariants:
//
//  1. An entry is in the transaction of the change that it tells of. Its stamp is the commit's.
//  2. The counter of the entries is exact, or too large after a crash in a trim; never too small.
//  3. The newest entry is never trimmed, nor one within the retention.
//  4. An Activity begins before its commit may be visible and ends after it: whoever sees no
//     activity after a stamp misses no entry.
//  5. A Point that was acquired stays open until it is released.
//
// It does not apply entries to collections: package table does, with what Replay gives it. The
// format of entries is in package oplog.
//
// A new kind of entry gets a method of Log, as Command and Noop are, and a case where package table
// applies entries (past.go) and package changestream makes events of them.
package changelog
