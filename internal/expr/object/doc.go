// Package object computes the operators over documents: $getField, $setField, $mergeObjects,
// $objectToArray and the like.
//
// Each operator or family has a file named for it: $getField is in getfield.go. table.go lists
// the definitions.
//
// Invariants:
//
//  1. A Builder keeps the first place of a field and its last value.
//
// Documents that an expression spells out, {a: "$b"}, are part of the language: see
// internal/expr.
//
// To add an operator: write its file, name its definition in table.go, and add its testdata in
// internal/expr.
package object
