// Package passage decides which predicates of a $match can move before another stage of a pipeline.
//
// Concepts:
//
//   - A Predicate is one of the conditions that a $match combines with AND. It knows the paths that
//     it reads, and whether it can fail, tells missing fields from others, or contains a negation.
//   - A Func belongs to a stage. It maps the path of a field after the stage to its path before the
//     stage, or tells that a predicate must stay after the stage.
//   - Divide separates the predicates that can move before a stage from the others, and renames
//     their paths.
//
// Invariants:
//
//  1. A predicate that moves gives the same answer for a document before the stage as it gives for
//     the results of the stage.
//  2. A predicate that can fail does not move before a stage that drops documents.
//  3. A predicate whose result may change between evaluations does not move.
//
// The package does not know the stages, and does not rewrite pipelines. The rules of package
// pipeline do that.
//
// To let predicates pass another kind of stage, give the stage a Func: Unless, if it changes only
// some top-level fields, or a function like OfKey.
package passage
