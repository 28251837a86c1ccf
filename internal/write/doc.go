// Package write executes the write statements: inserts, updates, deletes and find-and-modify on one collection.
//
// Concepts:
//
//   - A statement is one insert of documents, one update or one delete, already parsed and compiled.
//   - Targets are the records that a statement's query finds, in a snapshot. Each is locked before it is changed, and is
//     matched again where it has changed since.
//
// Invariants:
//
//  1. The change of one document is made by one storage transaction: its record, its index entries, its entry in the log, the
//     counter. A statement about many documents changes several in one, and leaves what one by one would have left. In a
//     multi-document transaction (Options.View) all statements share that one, and nothing is retried.
//  2. A statement never acts on a document that does not match its query at the moment of the change.
//  3. A conflict between statements is tried again here and never reported.
//  4. A statement whose operation has ended changes nothing: a command of many small ones ends between two of them.
//  5. A statement that loses all its targets to others looks again, so that it answers for one moment of the collection.
//
// The package knows no wire format: package command parses requests and builds replies.
package write
