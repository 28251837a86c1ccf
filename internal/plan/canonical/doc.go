// Package canonical converts a query to the form that planning works on.
//
// A Query has the filter, normalised and split into a Conjunction of predicates, the sort, the
// hint, the indexes that may answer it, and the shape, which is part of the plan cache's key.
// BoundsOn returns the bounds that a predicate gives to an index field. Each kind of index has its
// own file (image.go, geo.go, wildcardbounds.go).
//
// Invariants:
//
//  1. Bounds contain every match of the predicate. If they are not exact, a residual filter checks
//     the rest.
//  2. Work is counted. After the end of the operation Stopped returns true, and the results of
//     planning are useless.
//  3. A Query lives as long as its execution. Only one goroutine uses it.
//
// The package does not make plans. To bound a new kind of index, add a file with the bounds of a
// predicate on it, and a case in BoundsOn.
package canonical
