// Package projection shapes documents: the projection of find and the stages $project, $addFields
// and $unset.
//
// Parse compiles a specification by the rules of MongoDB 4.4 and later. Apply appends the projected
// document to a byte slice, working on raw BSON.
//
// Concepts:
//
//   - A projection is an inclusion, an exclusion, or (for $addFields) an addition. The first field
//     other than _id decides which. _id may differ from the other fields.
//   - The specification becomes a tree of field names. A leaf keeps, drops or computes its field. A
//     branch descends, through arrays too.
//   - $slice and the positional operator change an array in place, after the tree was applied.
//
// Invariants:
//
//  1. A Projection is immutable and safe for concurrent use.
//  2. An inclusion keeps the document's order of fields. Computed fields follow in the order of
//     the specification. An addition replaces fields in place and appends new ones.
//  3. Expressions see the document before the projection.
//  4. A projection of plain names allocates nothing, except for the growth of the destination.
//
// The package does not decide whether a plan must fetch the document: the planner does, from the
// paths that Fields and Dependencies return.
//
// To add a projection operator, give it a case in operator.go, a line in Operators, and a test
// under testdata.
package projection
