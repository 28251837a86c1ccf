// Package bounds computes which values of an index field a predicate can match, and encodes them as
// the key ranges that an index scan reads.
//
// An Interval is a range of values in MongoDB's order, Intervals are sorted and disjoint ones. Of
// returns the intervals of a predicate; Tightness says what they leave to check. Shared encodes
// long lists once for all candidate plans of a query.
//
// Invariants:
//
//  1. Bounds contain every value that matches. They may contain more: then they are not Exact.
//  2. Intervals are not changed once they are made. Results may share memory with their operands.
//
// The package knows nothing of plans or of the query around a predicate. To teach it a predicate: a
// case in Of.
package bounds
