// Package table keeps records and their index entries, changed together in one storage transaction.
//
// Concepts:
//
//   - A record is a document stored under its collection's prefix and its record id, the keystring of its _id: records are
//     clustered by _id, and there is no separate _id index.
//   - A capped collection keeps the documents that were inserted last, as many as its limits allow. Its records are clustered
//     by an insertion sequence, and it has an _id index with entries.
//   - The insert lock of a capped collection, the lock of its record prefix, is held by who inserts until the commit.
//   - An index entry is a key without a document; its value holds the type bits that the keystring loses.
//   - A Writer changes records of one collection in one storage transaction.
//   - The gate of a collection is held shared by writers for the length of a transaction, and exclusively, for a moment,
//     by changes of the catalog: a writer therefore maintains exactly the indexes that the catalog has.
//   - A Txn is a multi-document transaction: Writers of several collections in one storage transaction, which reads a snapshot.
//   - The history is a snapshot of every half second of late in which something was changed. A Txn of BeginPast reads what was at a
//     time: one of them, and in a scratch transaction on top of it what the log has up to the time.
//
// Invariants:
//
//  1. After every commit each index that is ready has exactly the entries that its key generation gives for the
//     collection's records (Validate checks it).
//  2. The lock of a record protects the record and its index entries. The lock of the prefix of a unique index entry
//     protects the decision that no other record has these values.
//  3. An index's multikey paths cover every committed record; they are made durable before the first record that
//     needs them. A reader takes its snapshot first and asks for the multikey paths then.
//  4. A collection's counter is changed by the transaction that changes the records: it is exact, after a crash too.
//  5. The records of a capped collection become visible in the order of their sequence: a reader that goes on behind the last
//     record that it has seen misses none. While a process runs no sequence is used twice.
//  6. After an insert a capped collection keeps its limits, but for the document that was inserted, which stays however large
//     it is. What is evicted for it is evicted in its transaction. An update may grow a document: the next insert evicts.
//  7. Waiters for arrivals are woken after the commit, so that a snapshot that they take then has what arrived.
//
// Collections and indexes are looked up by package catalog; predicates are compiled by whoever opens the Store.
package table
