// Package array computes the operators over arrays: $map, $filter, $slice, $sortArray and the
// like.
//
// Each operator or family has a file named for it: $slice is in slice.go. table.go lists the
// definitions.
//
// Invariants:
//
//  1. Of an array that is constant, $indexOfArray looks at the type when it is compiled, as
//     MongoDB does.
//  2. An operator that makes an array counts what it makes while it grows, and looks at its
//     operation.
//
// The forms of accumulators over arrays ($firstN, $minN) are in internal/accumulator.
//
// To add an operator: write its file, name its definition in table.go, and add its testdata in
// internal/expr.
package array
