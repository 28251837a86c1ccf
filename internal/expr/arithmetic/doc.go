// Package arithmetic computes the operators over numbers: sums, roundings, logarithms, bits and
// trigonometry.
//
// Each operator or family has a file named for it: $add is in add.go. table.go lists the
// definitions.
//
// Invariants:
//
//  1. The type of a result follows from the types of the operands: see internal/numeric.
//  2. $add and $subtract take dates too.
//
// To add an operator: write its file, name its definition in table.go, and add its testdata in
// internal/expr.
package arithmetic
