// Package ttl removes documents whose time is over.
//
// Concepts:
//
//   - A target is a set of documents with a common rule of expiry: those of a TTL index, of a
//     clustered collection with expireAfterSeconds, or the buckets of a time-series collection.
//   - A pass removes everything that had expired when it began. It consists of sub-passes, in each
//     of which every target goes on from where it was for a while: a large one does not hold up the
//     others.
//
// Invariants:
//
//  1. A document is looked at again while it is locked, by the rule that is in force at that
//     moment: one that was touched, or whose index was changed or dropped, stays.
//  2. Documents are removed one by one, each in its own transaction and on the same way as by a
//     delete. A record that someone else holds is left for the next pass. No writer waits for the
//     monitor longer than one deletion takes.
//  3. Between two batches the monitor rests as long as the batch took: it takes at most half of a
//     processor.
//
// To let another kind of collection expire, add a method beside ofIndexes and ofBuckets.
package ttl
