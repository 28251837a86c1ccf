// Package plan chooses how a query runs: it makes candidate plans from a query and the indexes
// there are, tries the candidates against each other, remembers winners by the query's shape, and
// explains what it did. The parts are packages below this one, which joins them in the Planner.
//
// The life of a query:
//
//  1. A query.Query is made canonical (package canonical): its filter normalised and split into
//     predicates, its shape hashed. The indexes come from package indexinfo, which keeps them from
//     one query to the next.
//  2. Package candidate enumerates: for each index that bounds a predicate (package bounds) or
//     provides the sort, one tree of the operators of package node, and the collection scan where
//     no index helps.
//  3. Of several candidates the plan cache (package cache) names one, or a trial picks it (package
//     trial).
//  4. The winning tree is built into operators of package exec and run by an Execution.
//
// Package explain writes what the explain command shows, package describe how error messages show a
// filter.
//
// Invariants:
//
//  1. A plan is an immutable, printable value; running it does not change it.
//  2. The result of a query never depends on which plan ran: bounds contain every match, and
//     whatever bounds are not exact about is checked again by a residual filter.
//  3. Plans are made after the reader has its snapshot, so that the multikey paths they rely on
//     hold for what they read.
//  4. The cache only chooses between candidates that were just made for the query at hand: a stale
//     entry costs time, never a result.
//  5. A plan of the cache is found by the signatures of all candidates, which depend on the query's
//     values: candidates are therefore always enumerated, cheaply, and operators are built for the
//     winner alone.
//
// The package does not change data. Updates and deletes ask it for their targets (Planner.Targets).
//
// To teach it bounds for a predicate: a case in package bounds. To add an operator: a file in
// package node, and a function of package candidate that uses it.
package plan
