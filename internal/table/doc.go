// Package table keeps records and their index entries, changed together in one storage transaction.
//
// Concepts:
//
//   - A record is a document under its collection's prefix and its record id, the keystring of its
//     _id: records are clustered by _id, and there is no separate _id index.
//   - A capped collection keeps the documents that were inserted last, as many as its limits allow.
//     Its records are clustered by an insertion sequence, and it has an _id index with entries.
//   - The insert lock of a capped collection is the lock of its record prefix. An insert holds it
//     until the commit.
//   - An index entry is a key without a document. Its value holds the type bits that the keystring
//     loses.
//   - A Writer changes records of one collection in one storage transaction.
//   - The gate of a collection is held shared by writers for the length of a transaction, and
//     exclusively by changes of the catalog: a writer maintains exactly the indexes that the
//     catalog has.
//   - A View is a state of the collections that reads see. There are four, each in a file of its
//     name: Newest, the newest committed state, and three that are fixed: Txn, Past and Snapshot.
//     A request chooses its View once; the packages between do not ask which one it is.
//   - A Txn is a multi-document transaction: Writers of several collections in one storage
//     transaction, which reads a snapshot.
//   - A Past is the state at a time: a snapshot of the history of package changelog, and in a
//     scratch transaction on top of it the changes that the oplog has up to the time. It is a
//     Transaction that refuses to write.
//   - If the catalog changes under a step, the step does nothing and fails with ErrDropped (a
//     write) or ErrChanged. RetryOn runs the step again, which looks its collection up again.
//
// Invariants:
//
//  1. After every commit each index that is ready has exactly the entries that its key generation
//     gives for the collection's records (Validate checks it).
//  2. The lock of a record protects the record and its index entries. The lock of the prefix of a
//     unique index entry protects the decision that no other record has these values.
//  3. An index's multikey paths cover every committed record. They are stored before the first
//     record that needs them. A reader takes its snapshot first and asks for the multikey paths
//     then.
//  4. A collection's counter is changed by the transaction that changes the records: it is exact,
//     after a crash too.
//  5. The records of a capped collection become visible in the order of their sequence: a reader
//     that goes on after the last record that it has seen misses none. While a process runs no
//     sequence is used twice.
//  6. After an insert a capped collection keeps its limits, but for the inserted document, which
//     stays however large it is. An insert evicts in its own transaction. An update may grow a
//     document: the next insert evicts.
//  7. A snapshot and the catalog state beside it are of the same moment: steady takes both.
//  8. Waiters for arrivals are woken after the commit, so that a snapshot that they take then has
//     what arrived.
//
// It does not decide what collections and indexes there are: package schema does, through Define,
// Change and ChangeHeld, and it opens stores. Names are looked up by package catalog. Predicates
// are compiled by whoever opens the store.
//
// A new kind of state to read implements View in a file of its name. A new property of collections
// is compiled in attach.go. The locks and their order are in docs/locks.md, the keys in
// docs/keys.md.
package table
