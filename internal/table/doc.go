// Package table keeps records and their index entries, changed together in one storage transaction.
//
// Concepts:
//
//   - A record is a document stored under its collection's prefix and the keystring of its _id: records are clustered by
//     _id, and there is no separate _id index.
//   - An index entry is a key without a document; its value holds the type bits that the keystring loses.
//   - A Writer changes records of one collection in one storage transaction.
//   - The gate of a collection is held shared by writers for the length of a transaction, and exclusively, for a moment,
//     by changes of the catalog: a writer therefore maintains exactly the indexes that the catalog has.
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
//
// Collections and indexes are looked up by package catalog; predicates are compiled by whoever opens the Store.
package table
