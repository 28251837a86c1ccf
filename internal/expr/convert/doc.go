// Package convert computes $convert and its short forms, $toInt, $toString and the like.
//
// $convert is in convert.go and $toInt with its like in toint.go; what concerns binary data is in
// binary.go. table.go lists the definitions.
//
// Invariants:
//
//  1. A conversion that fails gives the value of onError; one of null gives the value of onNull.
//
// To add an operator: write its file, name its definition in table.go, and add its testdata in
// internal/expr.
package convert
