// Package expr parses and evaluates MongoDB's aggregation expressions.
//
// Parse compiles a BSON value into a tree of Expr nodes once per command. Eval evaluates the tree
// for one document, directly on its BSON.
//
// Concepts:
//
//   - A Definition describes an operator: its name, family, number of operands, parser and other
//     properties. It stands in the operator's file. Pipelines and filters ask the Table for
//     properties and have no lists of operators of their own. This package defines the operators
//     that belong to the language: conditions, comparisons, boolean operators, $let, $literal and a
//     few others. The other operators are in the packages below (date, array, str, …) and in
//     internal/accumulator. internal/expressions joins all of them to a Table.
//   - A Vars is the scope for parsing an expression: the operators, the collation, and the
//     variables. The variables of a command's `let` are constants. $let, $map and other operators
//     bind variables to numbered slots.
//   - A Context is the state of an evaluation: the document, the slots, the time, the metadata. It
//     is reused from document to document and belongs to one goroutine.
//   - Missing is a value of its own (bsonx.TypeMissing): the value of absent fields and of
//     $$REMOVE.
//
// Invariants:
//
//  1. An Expr is immutable after Parse. Several goroutines may evaluate it, each with its own
//     Context.
//  2. Eval never changes the bytes of the document. Its result may borrow them.
//  3. An expression whose operands are all constant is evaluated at parse time. If that fails, the
//     node stays and returns the error when it is evaluated, so a branch that is never taken causes
//     no error.
//  4. The function of an operator does not keep the slice of its arguments.
//  5. Nesting is bounded: the parser never recurses deeper than limits.ExpressionDepth.
//  6. Every definition sets Total, Folds, Depends and StableAPI, which have no default.
//  7. The scope contains the table of operators. Importing a package registers nothing, and a scope
//     without operators parses only paths and literals.
//
// The package does not depend on stages, accumulators over many documents, or query predicates.
//
// To add an operator: write its file with its definition in the package of its family, list the
// definition in that package's table.go (in registry.go, if this package is the family), and add
// testdata/<family>/<operator> here. An operator that is a plain function of its operands needs
// only Op1, Op2 or OpN. An operator that binds variables parses itself, as $filter and $let do.
package expr
