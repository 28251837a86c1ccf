// Package expr compiles and evaluates MongoDB's aggregation expressions.
//
// Parse turns a BSON value into a tree of Expr nodes once per command; Eval computes the tree for one document
// over raw BSON. Every operator is a definition in one table (see registry.go): its name, family, arity, parser
// and status. An operator that MongoDB has and Sheaf does not have yet is in the table too and answers
// NotImplemented; a name that is in no table answers InvalidPipelineOperator.
//
// Concepts:
//
//   - A Vars is the scope in which an expression is parsed: which variables exist and where their values are. The
//     values of a command's `let` are constants by then; $let, $map and the like bind numbered slots.
//   - A Context is the state of evaluation: the document, the slots, the time, the metadata. It is reused from
//     document to document and belongs to one goroutine.
//   - Missing is a value of its own (bsonx.TypeMissing): fields that are absent, and $$REMOVE.
//
// Invariants:
//
//  1. An Expr is immutable after Parse and may be evaluated by many goroutines, each with its own Context.
//  2. Eval never changes the bytes of the document; its result may borrow them, or own its bytes.
//  3. An expression whose operands are all constant is evaluated at parse time. If that fails, the node stays and
//     the error is raised where it is evaluated, so that branches that are never taken raise nothing.
//  4. An operator's function does not keep the slice of its arguments.
//  5. Nesting is bounded: no client can make the parser recurse deeper than maxDepth.
//
// The package does not know stages, accumulators over many documents, or query predicates.
//
// To add an operator: write its function beside its family (string.go, array.go, …), put a definition into that
// family's table, and add testdata/<family>/<operator>. A strict function of its operands needs only op1, op2, op3
// or opN; an operator with named arguments or variables parses itself, as $filter and $let do.
package expr
