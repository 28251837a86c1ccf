// Package index generates the keys of index entries and the sort keys of documents.
//
// A Pattern is what an index is over; a KeyGen compiled from it turns a document into Keys: byte
// strings that order as MongoDB orders the values, with the type bits that a covered query needs
// to return the values exactly.
//
// Invariants:
//
//  1. A document has the keys that a MongoDB server gives it: testdata/keygen.jsonl holds
//     recorded answers.
//  2. Keys are sorted and distinct. Which type bits stay where equal values have different types
//     depends on the document only, so the entries of an old version can be found again from the
//     old document.
//  3. In an index of Ordered fields, a document with several keys has an array on the path of a
//     field, and MultikeyPaths tells which. The planner relies on it: it intersects bounds only
//     where no component was an array. Text, wildcard and 2dsphere indexes give a document
//     several keys without an array; a wildcard index lists its arrays in ArrayPaths.
//  4. A sort key is the first key that an index of the sort pattern would have for the document.
//     Sorting and scanning such an index therefore give the same order. Sorts by a $meta score
//     are made by MetaSortGen, and no index has their keys.
//  5. KeyGen and SortKeyGen without a collation allocate nothing for small documents, once their
//     buffers have grown. A collation allocates the key of each string.
//
// Under a collation the generators put collation keys into the index keys (Spec.Collation);
// values that are looked up must be folded in the same way.
//
// The package does not know where entries are stored (package table), which predicate gives which
// bounds and how ranges of keys are scanned (packages plan and exec), or which documents a
// partial index covers (the caller decides).
//
// A kind of index (kind.go) is a Generator that fills Keys, and the Pattern of the fields in
// them. Compile makes both from the catalog's specification. To add a kind: a Kind and its
// compiler in the tables there. Readers of entries must not take a field of another kind than
// Ordered for a value: see Field.Holds.
package index
