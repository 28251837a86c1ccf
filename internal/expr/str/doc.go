// Package str implements the expression operators on strings, such as $concat, $substrCP,
// $regexMatch and $trim.
//
// Each operator or family has a file named for it: $split is in split.go. table.go lists the
// definitions.
//
// Invariants:
//
//  1. A result of 16 MiB or more is an error, which is raised before the string is built.
//
// Comparison with a collation is in internal/collation, and text search in internal/text.
//
// To add an operator: write its file, list its definition in table.go, and add its testdata in
// internal/expr.
package str
