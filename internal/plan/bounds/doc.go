// Package bounds computes which values of an index field a predicate can match, and encodes them as
// the key ranges that an index scan reads.
//
// An Interval is a range of values in MongoDB's order. Intervals is a sorted list of disjoint
// intervals. Of returns the intervals of a predicate, with a Tightness that says what remains to be
// checked. Shared encodes long lists once for all candidate plans of a query.
//
// Invariants:
//
//  1. Bounds contain every value that matches. Bounds that contain more are not Exact.
//  2. Intervals are not changed after they are made. Results may share memory with their operands.
//
// The package does not know plans, or the query around a predicate. To support another predicate,
// add a case in Of.
package bounds
