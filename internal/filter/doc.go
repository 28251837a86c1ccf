// Package filter compiles and evaluates MongoDB's query predicates: the filter of find, update and
// delete, $match, partial indexes, array filters and validators.
//
// Parse turns a filter document into a tree of Node values once per command. Match reports whether
// one raw BSON document satisfies the tree. The node types are exported because the planner reads
// them.
//
// Concepts:
//
//   - A leaf has a Path and tests single values. The walk over a document decides which values the
//     leaf sees. It includes the elements of arrays, treats numeric components as array indexes,
//     and gives a missing value where a path ends early.
//   - A node answers two questions: does a document match (matchDoc), and does a single value match
//     (matchElem). $elemMatch, $not and $all ask the second question about array elements.
//   - The state (state.go) of one evaluation keeps its first error, checks the operation, and
//     records Details: the array element that the match went through, for the positional operator
//     $.
//   - Normalize returns the canonical tree: flattened, without constants, with sorted children.
//     AppendShapeKey and Serialize accept any tree, but only the canonical trees of equal queries
//     are equal.
//
// Invariants:
//
//  1. A tree is immutable after Parse, and many goroutines may match with it.
//  2. Comparisons, logical and array operators allocate nothing when they match. $expr, $where,
//     $jsonSchema, geospatial predicates, and strings compared by a collation may allocate, and so
//     may regular expressions that Go's regexp cannot run.
//  3. A Filter refers to the bytes of a filter document. Parse copies the document first, unless
//     Options.Borrow is set. Then the caller must not change the document while the filter is
//     used.
//  4. Every operator that MongoDB knows is in the table (registry.go). An operator without a
//     parser there fails with NotImplemented. A name that is not in the table fails with BadValue.
//  5. The nesting of a filter is at most maxDepth, whatever a client sends.
//
// The package does not know indexes or plans, or where documents come from. $near is not a
// predicate: the planner takes it out of the tree.
//
// To add an operator, write its node (match, serialize, and a Kind) and its parser in a file of its
// name. Add it to the table in registry.go, describe its failure in failure.go, and add
// testdata/<family>/<operator>. Only filter.go and explain121.go may use the table, because it
// refers to all operators.
package filter
