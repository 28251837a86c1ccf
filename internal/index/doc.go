// Package index generates the keys of index entries and the sort keys of documents.
//
// A Pattern is what an index is over; a KeyGen compiled from it turns a document into Keys: byte strings that order as
// MongoDB orders the values, with the type bits that a covered query needs to return the values exactly.
//
// Invariants:
//
//  1. A document has the keys that a MongoDB server gives it: testdata/keygen.jsonl holds recorded answers.
//  2. Keys are sorted and distinct. Which type bits stay where equal values have different types depends on the
//     document only, so the entries of an old version can be found again from the old document.
//  3. A document with more than one key has an array on the path of some field, and MultikeyPaths tells which. The
//     planner relies on it: where no component was an array, bounds may be intersected.
//  4. A sort key is the first key that an index of the sort pattern would have for the document. Sorting and scanning
//     such an index therefore give the same order.
//  5. In the steady state nothing is allocated.
//
// The package does not know where entries are stored (package table), which predicate gives which bounds and how
// ranges of keys are scanned (packages plan and exec), which documents a partial index covers (the caller decides), or
// collations (the caller encodes collation keys).
//
// A kind of index (kind.go) is a Generator that fills Keys, and the Pattern of what stands in them, made by Compile from the
// catalog's specification. To add one: a compiler in the table there. Whoever reads entries takes a Field of another kind than
// Ordered for something that only those know who know the kind: see Field.Holds.
package index
