// Package describe writes filters as MongoDB's error messages show them: a tree with a line for
// each predicate.
//
// Filter is the whole tree, Shell a document. Texts end after MaxDescribed bytes, because a message
// repeats what a client sent. To add a predicate: a case in describer.node.
//
// Invariant: the texts are for people. No code reads them back. Explain does not use them; it shows
// BSON.
package describe
