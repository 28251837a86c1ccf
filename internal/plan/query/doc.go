// Package query defines Query, the request of a command that reads a collection or searches for
// targets, with the checks that need no index.
//
// Query is a plain value that the caller fills. CheckMeta, CheckTailable, CheckHint and
// CheckSortMeta refuse requests that cannot be answered. Refused marks errors that were found
// before a query ran. The package also reads the other values of a row, not its document, that
// sorts and projections need: scores, distances, sort keys, index keys.
//
// Invariants:
//
//  1. The planner does not change a Query.
//  2. Error texts are MongoDB's.
//
// The package does not plan. To add a find option, add a field to Query. If the option changes the
// plan, the packages candidate and node read the field.
package query
