// Package plan chooses how a query runs. It creates candidate plans from a query and the existing
// indexes, compares the candidates in a trial, remembers winners by the query's shape, and explains
// its choice. The parts are packages below this one, which joins them in the Planner.
//
// The life of a query:
//
//  1. A query.Query is made canonical (package canonical): its filter is normalised and split into
//     predicates, and its shape is hashed. The indexes come from package indexinfo, which keeps
//     their descriptions from one query to the next.
//  2. Package candidate enumerates the candidates. For each index that bounds a predicate (package
//     bounds) or provides the sort, it creates one tree of the nodes of package node. If no index
//     helps, the candidate is a collection scan.
//  3. If there are several candidates, the plan cache (package cache) names one, or a trial
//     (package trial) chooses one.
//  4. An Execution runs the operators (package exec) of the winning tree.
//
// Package explain writes the output of the explain command. Package describe writes filters as
// error messages show them.
//
// Invariants:
//
//  1. A plan is an immutable, printable value; running it does not change it.
//  2. The result of a query never depends on which plan ran, except that a hinted sparse or partial
//     index may lack documents: bounds contain every match. If bounds are not exact, a residual
//     filter checks the rows again.
//  3. Plans are made after the reader has its snapshot, so that the multikey paths that they rely
//     on hold for the data that they read.
//  4. The cache only chooses between candidates that were just made for the current query: a stale
//     entry costs time and never changes a result.
//  5. The key of the plan cache contains the signatures of all candidates, which depend on the
//     query's values. Candidates are therefore always enumerated, which is cheap. If the cache
//     names the plan, operators are built only for it.
//
// The package does not change data. Updates and deletes get their targets from Planner.Targets.
//
// To support bounds for another predicate, add a case in package bounds. To add an operator, add a
// file in package node, and a function of package candidate that uses it.
package plan
