// Package update compiles and applies MongoDB's update language: operator documents ({$set: …}),
// replacement documents and aggregation pipelines.
//
// # Concepts
//
// Parse turns an update into an immutable *Update. An operator document becomes a trie: one node
// per path component, and an operator at every leaf. Apply walks the trie and the bytes of one
// document together. It collects edits, each of which replaces a byte range of the document. Then
// it writes the new document in one pass that copies the ranges between the edits. A document is
// never decoded.
//
// # Invariants
//
//  1. An *Update is immutable and safe for concurrent use. Apply never changes or keeps its
//     document. It returns the same document if nothing changes.
//  2. Operators are applied in the order of their paths: lexicographic, with array indexes by
//     number. New fields are appended in that order, and the first error in that order is
//     reported.
//  3. No two operators of one update touch the same path or a prefix of each other (error 40).
//     Therefore each leaf sees the original value, and edits never overlap.
//  4. Each operator decides what counts as a modification, as in MongoDB. $set of the same type
//     and bytes, $inc by zero and $pull of nothing do not count. $push with $sort counts, unless
//     the array is empty. Without a modification Apply returns the original document.
//  5. The result has an unchanged _id, at most 16 MiB and at most the storable nesting depth.
//
// # What it does not do
//
// The package does not match documents, execute pipelines (Options.Compiler), or write records and
// index entries. Package filter finds the element for the positional $, and Env carries its index.
//
// # Adding an operator
//
// Write one file with its leaf (see leaf.go for the contract), add one line to the table in
// operators.go, and a data-driven test under testdata/<family>/<operator>.
package update
