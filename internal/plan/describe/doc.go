// Package describe writes filters as MongoDB's error messages show them: a tree with a line for
// each predicate.
//
// Filter describes a whole tree, and Shell describes a document. Texts end after MaxDescribed
// bytes, because a message repeats the client's input. To add a predicate, add a case in
// describer.node.
//
// Invariant: the texts are for people. No code parses them. Explain does not use them; it shows
// BSON.
package describe
