// Package table stores records and their index entries, and changes both in one storage
// transaction.
//
// Concepts:
//
//   - A record is a document, stored under its collection's prefix and its record id. The record id
//     is the keystring of the _id: records are clustered by _id, and there is no separate _id
//     index.
//   - A capped collection keeps the most recently inserted documents, as many as its limits allow.
//     Its records are clustered by an insertion sequence, and it has an _id index with entries.
//   - The insert lock of a capped collection is the lock of its record prefix. An insert holds it
//     until the commit.
//   - An index entry is a key without a document. Its value holds the type bits that the keystring
//     loses.
//   - A Writer changes records of one collection in one storage transaction.
//   - The gate of a collection is a lock. Writers hold it shared until their transaction ends.
//     Changes of the catalog hold it exclusively. Thus a writer maintains exactly the indexes that
//     the catalog has.
//   - A View is a state of the collections that reads see. There are four, each in a file of its
//     name: Newest, the newest committed state, and three that are fixed: Txn, Past and Snapshot. A
//     request chooses its View once; the packages between do not ask which one it is.
//   - A Txn is a multi-document transaction: Writers of several collections in one storage
//     transaction, which reads a snapshot.
//   - A Past is the state at an earlier time. It consists of a snapshot from the history of package
//     changelog, and of a scratch transaction on top with the changes that the oplog has between
//     the snapshot and the time. It is a Transaction that refuses to write.
//   - If the catalog changes during a step, the step does nothing and fails with ErrDropped (a
//     write) or ErrChanged. RetryOn runs the step again, which looks its collection up again.
//
// Invariants:
//
//  1. After every commit each index that is ready has exactly the entries that its key generation
//     gives for the collection's records (Validate checks it).
//  2. The lock of a record protects the record and its index entries. The lock of the prefix of a
//     unique index entry protects the decision that no other record has these values.
//  3. An index's multikey paths cover every committed record. They are stored before the first
//     record that needs them. A reader takes its snapshot first and reads the multikey paths
//     afterwards.
//  4. The transaction that changes records also changes the collection's counter. The counter is
//     therefore exact, also after a crash.
//  5. The records of a capped collection become visible in the order of their sequence: a reader
//     that continues after the last record that it has seen misses none. A process never uses a
//     sequence twice.
//  6. After an insert a capped collection is within its limits, except that the inserted document
//     stays however large it is. An insert evicts in its own transaction. An update may grow a
//     document beyond the limits; the next insert evicts.
//  7. A snapshot and the catalog state that is used with it belong to the same moment: steady takes
//     both.
//  8. Waiters for arrivals are woken after the commit, so a snapshot that they take then has the
//     new records.
//
// The package does not decide which collections and indexes exist. Package schema does that,
// through Define, Change and ChangeHeld; it also opens stores. Package catalog looks names up. The
// caller that opens the store passes a Compiler for predicates.
//
// A new kind of state to read implements View in a file of its name. A new property of collections
// is compiled in attach.go. The locks and their order are in docs/locks.md, the keys in
// docs/keys.md.
package table
