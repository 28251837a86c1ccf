// Package canonical brings a query into the form that planning works on.
//
// A Query has the filter normalised and split into a Conjunction of predicates, the sort, the hint,
// the indexes that may answer it, and the shape that the plan cache goes by. BoundsOn returns the
// bounds that a predicate gives to an index field; the kinds of index have a file each (hashed.go,
// geo.go, wildcardbounds.go).
//
// Invariants:
//
//  1. Bounds hold every match of the predicate. What they are not exact about is left to a residual
//     filter.
//  2. Work is counted: where the operation ends, Stopped is true and what was made is of no use.
//  3. A Query lives as long as its execution and is used by one goroutine.
//
// It makes no plans. To bound a new kind of index: a file with the bounds of a predicate on it, and
// a case in BoundsOn.
package canonical
