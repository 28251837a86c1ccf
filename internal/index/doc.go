// Package index generates the keys of index entries and the sort keys of documents.
//
// A Pattern describes the fields of an index. A KeyGen compiled from it turns a document into Keys:
// byte strings that sort as MongoDB sorts the values. Their type bits let a covered query return
// the values exactly.
//
// Invariants:
//
//  1. A document has the same keys as on a MongoDB server: testdata/keygen.jsonl holds recorded
//     keys.
//  2. Keys are sorted and distinct. If equal values have different types, the type bits that are
//     kept depend only on the document. So the entries of an old version can be found again from
//     the old document.
//  3. In an index of Ordered fields, a document with several keys has an array on the path of a
//     field, and MultikeyPaths says which component it is. The planner relies on this: it
//     intersects bounds only if no component was an array. Text, wildcard and 2dsphere indexes
//     give a document several keys without an array. A wildcard index lists its arrays in
//     ArrayPaths.
//  4. A sort key is the first key that an index of the sort pattern would have for the document.
//     So sorting and scanning such an index give the same order. MetaSortGen makes the keys of
//     sorts by $meta, for which there is no index.
//  5. KeyGen and SortKeyGen without a collation allocate nothing for small documents, once their
//     buffers have grown. A collation allocates the key of each string.
//
// With a collation the generators put collation keys into the index keys (Spec.Collation). Values
// for a lookup must be folded in the same way.
//
// The package does not know where entries are stored (package table), which bounds a predicate
// gives and how key ranges are scanned (packages plan and exec), or which documents a partial index
// covers (the caller decides).
//
// An index type is a Definition: its name, its properties, and the function that makes a Generator
// from the catalog's specification. To add a type, write its file with its Definition, like
// hashed.go, and add that to the table in definition.go. A type that stores an image of each value,
// as a hash is one, only gives the function Image: the generator and the planner's bounds exist.
// Code that reads entries must check with Field.Holds that a field holds plain values, because only
// Ordered fields do.
package index
