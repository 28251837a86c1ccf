// Package indexinfo describes the indexes of a collection as the planner sees them.
//
// An Index has the fields, the options and the multikey paths at the time of planning. Cache keeps
// the descriptions of a collection until its catalog entry or a multikey path changes. A wildcard
// index is used in a form, which treats it as the index on one path; see Index.FormFor. ParseHint
// finds the index that a hint names.
//
// Invariants:
//
//  1. An Index is immutable. Queries share it without locks.
//  2. A description is made after the reader has its snapshot. Thus its multikey paths hold for
//     every document that the reader sees.
//
// The package does not decide which index a query uses. To add a property of indexes that plans
// depend on, add a field of Index and set it in infoOf.
package indexinfo
