// Package expr is the language of MongoDB's aggregation expressions: it parses and evaluates them.
//
// Parse turns a BSON value into a tree of Expr nodes once per command; Eval computes the tree for
// one document over raw BSON.
//
// Concepts:
//
//   - An operator is a Definition: its name, family, number of operands, parser and properties,
//     such as how explain shows it. It stands in the operator's file. Pipelines and filters ask the
//     Table for properties; they have no lists of operators. This package defines the operators
//     that belong to the language: conditions, comparisons, boolean operators, $let, $literal and
//     the like. The others are in the packages below (date, array, str, …) and in
//     internal/accumulator; internal/expressions joins all of them to a Table.
//   - A Vars is the scope in which an expression is parsed: the operators, the collation, which
//     variables exist and where their values are. The values of a command's `let` are constants by
//     then; $let, $map and the like bind numbered slots.
//   - A Context is the state of evaluation: the document, the slots, the time, the metadata. It is
//     reused from document to document and belongs to one goroutine.
//   - Missing is a value of its own (bsonx.TypeMissing): fields that are absent, and $$REMOVE.
//
// Invariants:
//
//  1. An Expr is immutable after Parse and may be evaluated by many goroutines, each with its own
//     Context.
//  2. Eval never changes the bytes of the document; its result may borrow them, or own its bytes.
//  3. An expression whose operands are all constant is evaluated at parse time. If that fails, the
//     node stays and the error is raised where it is evaluated, so that branches that are never
//     taken raise nothing.
//  4. An operator's function does not keep the slice of its arguments.
//  5. Nesting is bounded: no client can make the parser recurse deeper than
//     limits.ExpressionDepth.
//  6. A definition answers Total, Folds, Depends and StableAPI, which have no default.
//  7. The table of operators comes with the scope. Nothing registers by being imported, and a scope
//     without operators parses paths and literals only.
//
// The package does not know stages, accumulators over many documents, or query predicates.
//
// To add an operator: write its file with its definition in the package of its family, name the
// definition in that package's table.go, and add testdata/<family>/<operator> here. A strict
// function of its operands needs only Op1, Op2 or OpN; an operator with named arguments or
// variables parses itself, as $filter and $let do.
package expr
