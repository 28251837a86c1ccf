// Package date computes the operators over dates: parts, arithmetic, reading and writing.
//
// Each operator or family has a file named for it: $dateAdd is in dateadd.go. table.go lists the
// definitions.
//
// Invariants:
//
//  1. Days are counted from 1970-01-01, and calculated without time.Time: the years of a date
//     exceed those of the library.
//  2. A time zone is looked up once per context.
//
// Conversions to a date by $toDate are in internal/expr/convert, which reads texts with ReadDate.
//
// To add an operator: write its file, name its definition in table.go, and add its testdata in
// internal/expr.
package date
