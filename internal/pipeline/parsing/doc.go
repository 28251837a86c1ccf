// Package parsing holds what the stages of a pipeline share when they are parsed.
//
// Concepts:
//
//   - Options surround a pipeline: variables, collation, the database, the rules of the optimiser
//     that are switched off. They also know where the stage stands that is being parsed.
//   - A Stage is what a parser returns: it opens a source over another one.
//   - ParseSub parses a pipeline inside a stage. The parser of pipelines is in the Options, because
//     it knows all stages and no stage may import it.
//   - A Definition is a stage with all its properties: who asks what a stage may do reads them.
//   - A Walker learns what the argument of a stage contains: sub-pipelines, queries, expressions.
//   - A Rule names a rule of the optimiser.
//
// Invariants:
//
//  1. A Stage is immutable, and safe for concurrent use.
//  2. Options are passed on by value: a stage does not change those of its neighbours.
//
// The package knows no stage.
//
// To add a property of stages, give Properties a field without a default: the test of the table of
// stages asks every definition for it. To add a rule, give it a constant in Rule and a name in
// ruleNames, and add its function to the optimiser.
package parsing
