// Package update compiles and applies MongoDB's update language: operator documents ({$set: …}),
// replacement documents and aggregation pipelines.
//
// # Concepts
//
// Parse turns an update into an immutable *Update. For an operator document that is a trie: one
// node per path component, an operator at every leaf. Apply walks the trie beside the bytes of one
// document and collects edits, each of which replaces a byte range of the document; writing the new
// document is then one pass that copies the ranges between the edits. A document is never decoded.
//
// # Invariants
//
//  1. An *Update is immutable and safe for concurrent use. Apply never changes or keeps the
//     document that it is given; it returns that same document where nothing changes.
//  2. Operators are applied in the order of their paths: lexicographic, array indexes by number.
//     New fields are appended in that order, and the first error in that order is the one reported.
//  3. No two operators of one update touch the same path or a prefix of each other (error 40). Each
//     leaf therefore sees the original value, and edits never overlap.
//  4. What counts as a modification is for each operator to say, as in MongoDB: $set of the same
//     type and bytes, $inc by zero, $pull of nothing are none, but $push with $sort always is one.
//     Without a modification Apply returns the document that it was given.
//  5. The result has an unchanged _id, at most 16 MiB and at most the storable nesting depth.
//
// # What it does not do
//
// Matching documents, choosing the element for the positional $ (package filter finds it, Env
// carries it), executing pipelines (Options.Compiler), writing records and index entries.
//
// # Adding an operator
//
// Write one file with its leaf (see leaf.go for the contract), add one line to the table in
// operators.go, and a data-driven test under testdata/<family>/<operator>.
package update
