// Package filter compiles and evaluates MongoDB's query predicates: the filter of find, update and delete, $match,
// partial indexes, array filters and validators.
//
// Parse turns a filter document into a tree of Node values once per command; Match tells for one raw BSON document
// whether it satisfies the tree. The node types are exported because the planner reads them.
//
// Concepts:
//
//   - A leaf has a Path and tests single values. The walk over a document decides which values it sees: through
//     arrays implicitly, by numeric components explicitly, and a missing value where a path ends early.
//   - A node answers two questions: does a document match (matchDoc), and does a single value match (matchElem), which
//     $elemMatch, $not and $all ask of array elements.
//   - Details tell which element of an array the match went through, for the positional operator $.
//   - Normalize gives the canonical tree: flattened, constants removed, children sorted. AppendShapeKey and Serialize are
//     defined on any tree, but only canonical trees of the same query are equal.
//
// Invariants:
//
//  1. A tree is immutable after Parse and may be matched by many goroutines.
//  2. Matching allocates nothing, except in $expr, $where and regular expressions outside RE2.
//  3. Parse owns what it keeps: a Filter does not borrow the bytes of the filter document.
//  4. Everything that MongoDB knows is in the table of operators (registry.go); what is known and not supported
//     answers NotImplemented, what is unknown answers BadValue.
//  5. Nesting is bounded by maxDepth, whatever a client sends.
//
// The package does not know indexes, plans, or where documents come from. $near is no predicate: the planner finds it in the
// tree.
//
// To add an operator: write its node (match, serialize, and its place in the order of kinds) and parser in a file of
// its name, put it into the table in registry.go, describe its failure in failure.go, and add
// testdata/<family>/<operator>.
package filter
