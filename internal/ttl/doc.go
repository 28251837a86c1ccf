// Package ttl removes expired documents.
//
// Concepts:
//
//   - A target is a set of documents with one expiry rule: the documents of a TTL index, of a
//     clustered collection with expireAfterSeconds, or the buckets of a time-series collection.
//   - A pass removes all documents that had expired when it began. It consists of sub-passes. In
//     each sub-pass every target continues for a limited time, so that a large target does not
//     delay the others.
//
// Invariants:
//
//  1. A document is checked again while it is locked, by the rule in force at that moment. It
//     stays if it was updated, or if its index was changed or dropped.
//  2. Documents are removed one by one. Each has its own transaction and the same code path as a
//     delete. If someone else holds a record, it is left for the next pass. A writer never waits
//     for the monitor longer than one deletion takes.
//  3. After a batch the monitor pauses for as long as the batch took, but at most for 100 ms. So it
//     uses at most half of a processor unless a batch takes longer than that.
//
// To support expiry for another kind of collection, add a method beside ofIndexes and ofBuckets.
package ttl
