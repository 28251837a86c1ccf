// Package set implements the expression operators that treat arrays as sets, such as $setUnion and
// $setEquals.
//
// Each operator or family has a file named for it: $setUnion is in setunion.go. table.go lists the
// definitions.
//
// Invariants:
//
//  1. Elements are compared with the collation of the scope.
//  2. The results of $setUnion and $setIntersection are sorted, so that equal sets give equal
//     arrays.
//
// To add an operator: write its file, list its definition in table.go, and add its testdata in
// internal/expr.
package set
