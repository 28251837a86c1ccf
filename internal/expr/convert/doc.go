// Package convert implements the expression operator $convert and its short forms, such as $toInt
// and $toString.
//
// $convert is in convert.go, the short forms are in toint.go, and conversions of binary data are in
// binary.go. table.go lists the definitions.
//
// Invariants:
//
//  1. A conversion that fails gives the value of onError, and a conversion of null gives the value
//     of onNull.
//
// To add an operator: write its file, list its definition in table.go, and add its testdata in
// internal/expr.
package convert
