// Package pebble is the embedded storage engine: it implements package storage with CockroachDB's
// Pebble, a log-structured merge tree. Only this package uses Pebble.
//
// Concepts:
//
//   - A write goes to the write-ahead log (WAL) and to a memtable. Full memtables are flushed to
//     sorted tables, and compactions merge tables. Pebble writes and syncs all files except the WAL
//     without interference.
//   - The first byte of a key tells the layers above what kind of key it is. A sorted table holds
//     keys of one kind. So keys that are added in ascending order, as records often are, do not
//     overlap with other tables, and compactions move them without merging. See splitKinds.
//   - diskFS is between Pebble and the file system. It decides when the WAL is really synced,
//     counts bytes, and notices failures and a full disk. It hides these errors from Pebble, which
//     would end the process.
//   - A transaction is a batch of Pebble and a list of its own writes. Package lock provides locks
//     and conflict detection. A statement transaction keeps its last closed iterator for its next
//     reads, as long as nobody commits.
//   - The record cache (records.go) keeps whole values that were read with Get. It comes before
//     Pebble's block cache, which keeps blocks of tables. Both share one memory budget.
//   - Gaps (gaps.go) are ranges in which all keys are deleted and which took a seek long to cross.
//     Later seeks leap over them.
//   - A counter is a key of Pebble merge operands, which are summed when it is read. After its
//     first use the sum is cached in memory.
//
// Durability. Pebble keeps a commit without sync in its own memory for a while, so that the commit
// would be lost with the process. Therefore Pebble sees all commits as sync commits, which wait for
// the write to the WAL file. diskFS omits the fsync as long as nobody waits for a durable commit:
//
//	commit ── Pebble: append to the log buffer ── log flusher: write(2) ── sync ── commit returns
//	                                                                        │
//	                               diskFS: fsync where guard.durable > 0, else nothing
//
// A command with many commits makes them Deferred: each returns when it is written, and Sync at the
// end of the command waits for one fsync. See unsynced.go.
//
// Pebble believes that the WAL is synced, so it must not write this belief into the WAL. Formats
// from FormatWALSyncChunks on do so, and would treat the loss of an unsynced tail as corruption.
// See formatMajorVersion.
//
// A failed write. If writing or syncing the WAL or the manifest fails, the store is frozen. The
// guard remembers the error. All commits, in progress or later, return storage.ErrFailed. diskFS
// drops all further writes to these files, and removes no files. So the disk is in the state that a
// crash at this moment would leave, and reads continue.
//
// A full disk is not a failure. Commits are refused while free space is below a reserve, early
// enough for the writes in progress. If another program takes the reserve, too, writes of the WAL
// and the manifest wait for space. A failed sync is always a failure, because it is unknown what
// reached the disk.
//
// Pebble would retry failing flushes for ever while a store is being opened or closed. So the store
// is frozen in this case, too, and its writes go nowhere.
//
// Invariants:
//
//  1. A commit is acknowledged only after its WAL bytes were written, and a durable commit only
//     after they were synced. After the guard has failed, no commit is acknowledged.
//  2. A WAL file is synced before it is closed, and so before the next file gets its first byte.
//  3. The locks of a transaction are released after its commit is visible, its counters are
//     updated and its changes are recorded for snapshot transactions.
//  4. A counter is loaded before the first commit in this process that adds to it, so that loading
//     never races with adding.
//  5. Nothing of Pebble is called after its Close: every call holds a pin, and Close waits for the
//     pins.
//  6. Before anything is written or removed, the manifest is compared with its seal (seal.go), and
//     the tables with the manifest (inspect.go, tables.go). If Pebble would forget or remove data
//     because of a lost or damaged file, opening fails or the file is restored. When a table is
//     first read, its keys are compared with the manifest, and its id with the file of the ids
//     (tableids.go).
//  7. A value from the record cache equals the value that Pebble would return in the reader's
//     view: see the rules in records.go.
//  8. If a reader leaps over a gap, the gap has no key in the reader's view: see the rules in
//     gaps.go.
//  9. The store's directory gets a format file before its data. A non-empty directory without this
//     file is refused.
//  10. A store is refused if a log is missing, or not readable up to its sync point: see
//     syncpoints.go. Unsynced bytes never move the sync point. A log is cut at the first
//     unreadable record after it: see replay.go.
//  11. Close flushes the logs to tables, so that a closed store needs no log.
//
// The package has no range keys, no encryption, and no WAL on another disk. A damaged byte in the
// unsynced part of the newest WAL looks like a torn write and ends the recovery there, as usual for
// logs. After a loss of power the same is true for the last group of synced commits, because
// nothing synced later proves that they were complete.
//
// To change an option of Pebble, see options.go and pebbleoptions.go: each option has its reason
// beside it. To treat another kind of file like the WAL or the manifest, add it to diskFS.kind.
package pebble
