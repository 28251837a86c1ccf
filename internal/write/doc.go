// Package write executes the write statements on one collection: inserts, updates, deletes and
// find-and-modify.
//
// Concepts:
//
//   - A statement is one insert of documents, one update or one delete, already parsed and
//     compiled.
//   - Targets are the records that a statement's query finds in a snapshot. Each target is locked
//     before it is changed. If it has changed since the snapshot, it is matched again.
//
// Invariants:
//
//  1. One storage transaction makes the whole change of a document: its record, its index entries,
//     its oplog entry, and the counter. A statement that changes many documents may change several
//     of them in one transaction; the result is the same as with one transaction each. In a
//     multi-document transaction (Options.View) all statements share one storage transaction, and
//     nothing is retried.
//  2. A statement never changes a document that does not match its query at the moment of the
//     change.
//  3. Outside of multi-document transactions, a write conflict is retried here and never reported.
//  4. A statement that begins after the end of its operation changes nothing. A command of many
//     small statements ends between two of them.
//  5. A statement that loses all its targets to other writers searches again, so that its result
//     reflects one moment of the collection.
//
// The package does not know the wire format: package command parses requests and builds replies.
package write
