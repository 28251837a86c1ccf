// Package object implements the expression operators on documents, such as $getField, $setField,
// $mergeObjects and $objectToArray.
//
// Each operator or family has a file named for it: $getField is in getfield.go. table.go lists the
// definitions.
//
// Invariants:
//
//  1. ObjectBuilder keeps the first position of a field and its last value.
//
// Object expressions such as {a: "$b"} are part of the language: see internal/expr.
//
// To add an operator: write its file, list its definition in table.go, and add its testdata in
// internal/expr.
package object
