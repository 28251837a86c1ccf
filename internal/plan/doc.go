// Package plan chooses how a query runs: it makes candidate plans from a query and the indexes there are, tries the
// candidates against each other, remembers winners by the query's shape, and explains what it did.
//
// The life of a query:
//
//  1. A Query is made canonical: its filter normalised, its shape hashed. What the catalog says of the collection's indexes
//     is kept from one query to the next (catalogcache.go).
//  2. Candidates are enumerated: for each index that bounds a predicate or provides the sort one tree of plan nodes
//     (solution.go, access.go, bounds.go, ordering.go), and the collection scan where there is none.
//  3. Of several candidates the plan cache names one, or a trial picks it (trial.go, rank.go, cache.go).
//  4. The winning tree is built into operators of package exec (build.go) and run by an Execution.
//
// Invariants:
//
//  1. A plan is an immutable, printable value; running it does not change it.
//  2. The result of a query never depends on which plan ran: bounds contain every match, and whatever bounds are not
//     exact about is checked again by a residual filter.
//  3. Plans are made after the reader has its snapshot, so that the multikey paths they rely on hold for what they read.
//  4. The cache only chooses between candidates that were just made for the query at hand: a stale entry costs time,
//     never a result.
//  5. A plan of the cache is found by the signatures of all candidates, which depend on the query's values: candidates are
//     therefore always enumerated, cheaply, and operators are built for the winner alone.
//
// The package does not change data. Updates and deletes ask it for their targets (Planner.Targets).
//
// To teach it bounds for a predicate: a case in bounds.go. To add an operator: a node in node.go, its construction in
// build.go, its output in explain.go.
package plan
