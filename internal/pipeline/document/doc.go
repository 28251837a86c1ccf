// Package document builds documents from other documents, for the stages of a pipeline.
//
// Concepts:
//
//   - SetPath returns a document with another value at a path.
//   - A Splicer does the same for several values in turn. It encodes the unchanged parts only once.
//   - A Tree contains the paths that a stage sets, and a Writer writes their values into documents.
//   - AppendGroupKey encodes a value so that values that compare equal have equal bytes.
//
// Invariants:
//
//  1. The results of a Splicer and a Writer are borrowed until the next call.
//  2. An existing field keeps its position; a new field is appended.
//
// The package does not define stages, and does not handle collations: the caller must fold strings
// before AppendGroupKey.
//
// To change documents in another way, write a function from document to document like SetPath. If a
// stage builds many documents from one, write a type like Splicer.
package document
