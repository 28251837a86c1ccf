// Package parsing holds what the stages of a pipeline share when they are parsed.
//
// Concepts:
//
//   - Options surround a pipeline: variables, collation, the database, the rules of the optimiser
//     that are switched off. They also know where the stage stands that is being parsed.
//   - A Stage is what a parser returns: it opens a source over another one.
//   - ParseSub parses a pipeline inside a stage. The parser of pipelines is in the Options, because
//     it knows all stages and no stage may import it.
//   - CheckPlaces holds the rules about where stages may stand.
//   - A Rule names a rule of the optimiser.
//
// Invariants:
//
//  1. A Stage is immutable, and safe for concurrent use.
//  2. Options are passed on by value: a stage does not change those of its neighbours.
//
// The package knows stages by their names only.
//
// To restrict where a stage may stand, add its name to the functions of place.go. To add a rule,
// give it a constant in Rule and a name in ruleNames, and add its function to the optimiser.
package parsing
