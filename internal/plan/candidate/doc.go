// Package candidate creates the candidate plans of a query.
//
// Of is the entry point. An enumerator finds the accesses: for each index that bounds a predicate
// or provides the sort order. A finisher completes each of them: residual filter, sort, skip,
// projection, limit. If no index helps, the candidate is a collection scan.
//
// Three plans need no enumeration: ForID (a query for one _id), FastCount (a count of all records)
// and Nowhere (a query on a collection that does not exist).
//
// Invariants:
//
//  1. Every candidate gives the same result, except that a hinted sparse or partial index may lack
//     documents. Candidates differ only in cost.
//  2. Candidates are ordered so that earlier ones win ties. There is at least one, and there are at
//     most Max for each conjunction.
//  3. For queries of usual size, all working memory of planning is one allocation.
//
// The package does not run plans. To use a new operator, write a function beside the others that
// returns a Solution with it, and call the function in enumerator.enumerate or in the finisher.
package candidate
