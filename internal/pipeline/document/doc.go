// Package document makes documents of documents, for the stages of a pipeline.
//
// Concepts:
//
//   - SetPath returns a document with another value at a path.
//   - A Splicer does the same for several values in turn: what stays the same is put together once.
//   - A Tree has the paths that a stage sets, and a Writer writes their values into documents.
//   - AppendGroupKey makes the bytes by which values that compare equal are found.
//
// Invariants:
//
//  1. What a Splicer and a Writer return is borrowed until their next call.
//  2. A field that is there keeps its place; a new one stands at the end.
//
// The package knows no stages and no sources. It does not compare by collation: who needs that folds
// the values first.
//
// To change documents in another way, write a function from document to document as SetPath is, or a
// type as Splicer where a stage makes many documents of one.
package document
