// Package array implements the expression operators on arrays, such as $map, $filter, $slice and
// $sortArray.
//
// Each operator or family has a file named for it: $slice is in slice.go. table.go lists the
// definitions.
//
// Invariants:
//
//  1. $indexOfArray checks the type of a constant array at parse time, as MongoDB does.
//  2. An operator that builds an array checks its size while it grows, and checks for interrupts of
//     the operation.
//
// The expressions that share code with accumulators, such as $firstN and $minN, are in
// internal/accumulator.
//
// To add an operator: write its file, list its definition in table.go, and add its testdata in
// internal/expr.
package array
