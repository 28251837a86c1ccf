// Package filter compiles and evaluates MongoDB's query predicates: the filters of find, update and
// delete, $match, partial indexes, array filters and validators.
//
// Parse compiles a filter document into a tree of Node values once per command. Match reports
// whether a raw BSON document satisfies the tree. The node types are exported because the planner
// reads them.
//
// Concepts:
//
//   - A leaf has a Path and tests single values. A walk over the document determines the values
//     that the leaf tests. It includes the elements of arrays, treats numeric components as array
//     indexes, and gives a missing value if a path ends early.
//   - A node has two methods for matching: matchDoc for a document, and matchElem for a single
//     value. $elemMatch, $not and $all call matchElem for array elements.
//   - The state (state.go) of one evaluation keeps its first error, checks for interrupts, and
//     records Details: the array element through which the document matched, for the positional
//     operator $.
//   - $jsonSchema is a list of rules. The table of its keywords is in jsonschema.go; items.go,
//     properties.go, dependencies.go, allof.go, encrypt.go and valuerule.go have the rules.
//   - Normalize returns the canonical tree: flattened, without constants, with sorted children.
//     AppendShapeKey and Serialize accept any tree, but equal queries have equal results only for
//     canonical trees.
//
// Invariants:
//
//  1. A tree is immutable after Parse, and several goroutines may match with it.
//  2. Comparisons, logical and array operators allocate nothing when they match. $expr, $where,
//     $jsonSchema, geospatial predicates, and comparisons of strings with a collation may allocate,
//     and so may regular expressions that Go's regexp cannot run.
//  3. A Filter refers to the bytes of its filter document. Parse copies the document first, unless
//     Options.Borrow is set. Then the caller must not change the document while the filter is in
//     use.
//  4. Every operator of MongoDB is in the table (registry.go). An operator without a parser in the
//     table fails with NotImplemented. A name that is not in the table fails with BadValue.
//  5. The nesting depth of a filter is at most limits.FilterDepth.
//
// The package does not depend on indexes, plans or the origin of documents. $near is not a
// predicate: the planner takes it out of the tree.
//
// To add an operator, write its node (match, serialize, and a Kind), its parser and its failure,
// which explains a validator, in a file of its name. Add it to the table in registry.go, and add
// testdata/<family>/<operator>. A parser reaches the table through parser.reg: a direct use would
// be an initialization cycle, because the table refers to all parsers.
package filter
