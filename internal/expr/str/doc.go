// Package str computes the operators over strings: $concat, $substrCP, $regexMatch, $trim and the
// like.
//
// Each operator or family has a file named for it: $split is in split.go. table.go lists the
// definitions.
//
// Invariants:
//
//  1. A string of 16 MiB or more is refused before it is made.
//
// Comparing strings by a collation belongs to internal/collation, and searches of text to
// internal/text.
//
// To add an operator: write its file, name its definition in table.go, and add its testdata in
// internal/expr.
package str
