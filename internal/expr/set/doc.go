// Package set computes the operators that take arrays as sets: $setUnion, $setEquals and the
// like.
//
// Each operator or family has a file named for it: $setUnion is in setunion.go. table.go lists
// the definitions.
//
// Invariants:
//
//  1. Elements are compared by the collation of the scope.
//  2. The results are sorted, so that equal sets give equal arrays.
//
// To add an operator: write its file, name its definition in table.go, and add its testdata in
// internal/expr.
package set
