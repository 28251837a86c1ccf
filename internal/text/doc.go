// Package text knows what a text index and a $text query make of strings: words, their stems, what
// weight they have in a document, and which documents a search is about.
//
// Concepts:
//
//   - A Language cuts strings into words at Unicode's delimiters, drops stop words, and reduces the
//     others to stems. A term is a stem in lower case and without diacritics.
//   - A Spec is what an index is over: which strings of a document, with which weights, in which
//     language each.
//   - A Scorer gives the terms of a document and their scores, of which the index keeps an entry
//     each.
//   - A Query is a parsed search: the terms that bound the index, and the phrases, negations and
//     spellings that only the documents tell.
//
// Invariants:
//
//  1. A document has the terms and scores that a MongoDB server gives it in an index of version 3;
//     the characters and stop words were compared with one.
//  2. A document that a Query matches has one of the query's terms in the index.
//  3. Specs, Languages and Queries are immutable and safe for concurrent use; a Scorer is used by
//     one goroutine at a time.
//
// Unicode's tables are those of the Go release: characters that Unicode has assigned or classed
// otherwise since its version 8, which MongoDB uses, may be cut or folded otherwise.
//
// The package does not know how entries are stored (package index) or found (packages plan and
// exec).
package text
