// Package ttl removes documents whose time is over.
//
// Concepts:
//
//   - A Target is a set of documents with a common rule of expiry: those of a TTL index, of a clustered collection with
//     expireAfterSeconds, or what another kind of collection has of that sort.
//   - A Finder tells which targets a collection has. The package brings one for indexes and clustered collections; New takes
//     others.
//   - A pass removes everything that had expired when it began. It consists of sub-passes, in each of which every target has
//     its turn: a large one does not hold up the others.
//
// Invariants:
//
//  1. A document is looked at again while it is locked, by the rule that is in force at that moment: one that was touched,
//     or whose index was changed or dropped, stays.
//  2. Documents are removed one by one, each in its own transaction and on the same way as by a delete. A record that
//     someone else holds is left for the next pass. No writer waits for the monitor longer than one deletion takes.
//  3. Between two batches the monitor rests as long as the batch took: it takes at most half of a processor.
//
// To let another kind of collection expire, give New a Finder that returns a Target with a Delete of its own.
package ttl
