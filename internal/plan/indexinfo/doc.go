// Package indexinfo describes the indexes of a collection as the planner sees them.
//
// An Index has the fields, the options and the multikey paths of the moment of planning. Cache
// keeps the descriptions of a collection until its catalog entry or a multikey path changes. A
// wildcard index is used in a form: as the index on one path, see Index.FormFor. ParseHint finds
// the index that a hint names.
//
// Invariants:
//
//  1. An Index is immutable. Queries share it without locks.
//  2. A description is made after the reader has its snapshot: multikey paths hold for every
//     document that it reads.
//
// It does not decide which index a query takes. To add a property of indexes that plans depend on:
// a field of Index, filled in infoOf.
package indexinfo
