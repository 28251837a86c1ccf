// Package query is what the commands that read or look for targets ask of a collection: Query, with
// the checks that need no index.
//
// Query is a plain value that the caller fills. CheckMeta, CheckTailable, CheckHint and
// CheckSortMeta refuse what no collection accepts. Refused marks errors from before a query ran.
// The package also reads what sorts and projections want of a row beside its document: scores,
// distances, sort keys, index keys.
//
// Invariants:
//
//  1. The planner does not change a Query.
//  2. Error texts are MongoDB's.
//
// It does not plan. To add a find option: a field of Query; where it changes the plan, the packages
// candidate and node read it.
package query
