// Package date implements the expression operators on dates: parts of dates, arithmetic, formatting
// and parsing.
//
// Each operator or family has a file named for it: $dateAdd is in dateadd.go. table.go lists the
// definitions.
//
// Invariants:
//
//  1. Calendar arithmetic uses days since 1970-01-01 and not time.Time, because BSON dates have a
//     larger range of years.
//  2. A time zone is looked up once per expr.Context.
//
// The conversion operator $toDate is in internal/expr/convert. It parses strings with ReadDate.
//
// To add an operator: write its file, list its definition in table.go, and add its testdata in
// internal/expr.
package date
