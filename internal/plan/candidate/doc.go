// Package candidate makes the candidate plans of a query.
//
// Of is the entry: an enumerator finds the accesses, for each index that bounds a predicate or
// gives the sort order, and a finisher completes each: residual filter, sort, skip, projection,
// limit. Where no index helps the candidate is a scan of the collection. ForID, FastCount and
// Nowhere make the plans that need no enumeration.
//
// Invariants:
//
//  1. Every candidate gives the same result. Which one runs is a question of cost.
//  2. Candidates come in the order in which ties are settled, at least one, at most Max for each
//     conjunction.
//  3. All that planning works in is one piece of memory, for queries of a usual size.
//
// It does not run plans. To use a new operator: a function beside the others that returns a
// Solution with it, called in enumerator.enumerate or in the finisher.
package candidate
