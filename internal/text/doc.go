// Package text implements the text analysis of text indexes and $text queries: words, their stems,
// their weight in a document, and the documents that match a search.
//
// Concepts:
//
//   - A Language splits strings into words at Unicode's delimiters, drops stop words, and reduces
//     the other words to stems. A term is a stem in lower case and without diacritics.
//   - A Spec describes a text index: which strings of a document it covers, with which weights and
//     in which language.
//   - A Scorer computes the terms of a document and their scores. The index has one entry for each
//     term.
//   - A Query is a parsed search. Its terms bound the index scan. Its phrases, negations and
//     spellings can be checked only in the documents.
//
// Invariants:
//
//  1. A document has the same terms and scores as in a text index of version 3 on a MongoDB
//     server. The delimiters and stop words were compared with a server.
//  2. A document that matches a Query has one of the query's terms in the index.
//  3. Specs, Languages and Queries are immutable and safe for concurrent use. Only one goroutine
//     at a time may use a Scorer.
//
// Unicode's tables come from the Go release, but MongoDB uses Unicode 8. Characters that were added
// or reclassified since then may be split or folded differently.
//
// The package does not know how entries are stored (package index) or found (packages plan and
// exec).
package text
