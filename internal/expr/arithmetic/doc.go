// Package arithmetic implements the expression operators on numbers: sums, rounding, logarithms,
// bits and trigonometry.
//
// Each operator or family has a file named for it: $add is in add.go. table.go lists the
// definitions.
//
// Invariants:
//
//  1. The types of the operands determine the type of the result: see internal/numeric.
//  2. $add and $subtract also accept dates.
//
// To add an operator: write its file, list its definition in table.go, and add its testdata in
// internal/expr.
package arithmetic
