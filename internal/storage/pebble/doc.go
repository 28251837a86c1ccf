// Package pebble is the embedded storage engine: package storage on CockroachDB's Pebble, a
// log-structured merge tree. It is the only package that knows Pebble.
//
// Concepts:
//
//   - A write goes to the write-ahead log (WAL) and to a memtable; full memtables become sorted
//     tables, which compactions merge. Everything but the WAL is written and synced by Pebble as it
//     is.
//   - The first byte of a key tells its kind to the layers above. Sorted tables hold one kind each,
//     so that what is added in order, as records often are, does not overlap with itself and is
//     moved, not merged. See splitKinds.
//   - diskFS stands between Pebble and the file system. It decides when the WAL is really synced,
//     counts bytes, notices failures and a full disk, and keeps those from Pebble, which would end
//     the process.
//   - A transaction is a batch of Pebble with a list of its own writes beside it. Locks and the
//     detection of conflicts are package lock's. A statement transaction keeps the iterator that it
//     closed last for its next reads, as long as nobody commits.
//   - The record cache (records.go) keeps values that gets read, whole. It stands in front of
//     Pebble's block cache, which keeps blocks of tables, and shares the budget with it.
//   - Gaps (gaps.go) are ranges that a seek was long in crossing since all keys in them are
//     deleted, for later seeks to leap over.
//   - A counter is a key of Pebble merge operands, summed when read. Its sum is cached in memory
//     from its first use on.
//
// Durability. Pebble keeps a commit without sync in its own memory for a while, so that it would be
// lost with the process. All commits are therefore sync commits to Pebble, which wait for the write
// to the WAL file; what is left out is the fsync, as long as nobody waits for a durable commit:
//
//	commit ── Pebble: append to the log buffer ── log flusher: write(2) ── sync ── commit returns
//	                                                                        │
//	                               diskFS: fsync where guard.durable > 0, else nothing
//
// A command of many commits makes them Deferred: they return when they are written, and Sync at the
// command's end waits for one fsync. See unsynced.go.
//
// Since Pebble believes that the WAL is synced, it must not write that belief into the WAL: formats
// from FormatWALSyncChunks on do, and would take the loss of an unsynced tail for corruption. See
// formatMajorVersion.
//
// A failed write. When writing or syncing the WAL or the manifest fails, the store is frozen: the
// guard remembers the error, all commits in progress and all later ones return storage.ErrFailed,
// and diskFS drops what Pebble still writes to these files and whatever it wants to remove. What is
// on disk is then what a crash at this moment would leave, and reads go on. A disk that is full is
// not a failure: commits are refused while free space is below a reserve, early enough for the
// writes that are under way; if another program takes the reserve too, writes of the WAL and the
// manifest wait for space. A failed sync is a failure in any case: what it left is not known. While
// the store is opened, and while it is closed with flushes that fail, it is frozen too, where
// Pebble would try for ever; writes go nowhere then.
//
// Invariants:
//
//  1. A commit is acknowledged only after its WAL bytes were written, a durable one only after they
//     were synced, and none after the guard has failed.
//  2. A WAL file is synced before it is closed, thus before the next one gets its first byte.
//  3. The locks of a transaction are released after its commit is visible, its counters are updated
//     and its changes are recorded for snapshot transactions.
//  4. A counter is loaded before the first commit in this process that adds to it, so that loading
//     never races adding.
//  5. Nothing of Pebble is called after its Close: every call holds a pin, and Close waits for the
//     pins.
//  6. Before anything is written or removed, the manifest is compared with its seal (seal.go) and
//     the tables with the manifest (inspect.go, tables.go). What Pebble would forget or remove
//     because of a lost or damaged file is refused, or made again. When a table is first read, its
//     keys are compared with the manifest, and its id with the file of the ids (tableids.go).
//  7. A value from the record cache is what Pebble would give in the reader's view: see the rules
//     in records.go.
//  8. In the view of a reader that leaps over a gap there is no key in it: see the rules in
//     gaps.go.
//  9. The store's directory has a format file before its data; without it a non-empty directory is
//     refused.
//  10. A log that is not readable up to its sync point, or is missing, is refused: see
//     syncpoints.go. What was not synced never moves the point, and is cut from the first
//     unreadable record on: see replay.go.
//  11. Close leaves no log that is needed: it flushes what only the logs have.
//
// What it does not do: no range keys, no encryption, no WAL on another disk. A damaged byte in the
// unsynced part of the newest WAL cannot be told from a torn write and ends the recovery there, as
// usual for logs. After a loss of power the same holds for the group of commits that was synced
// last: nothing that was synced after them tells of them.
//
// To change an option of Pebble, see options.go and pebbleoptions.go: each has its reason beside
// it. To treat another kind of file like the WAL or the manifest, add it to diskFS.kind.
package pebble
