// Package parsing contains the types that the stages of a pipeline share when they are compiled.
//
// Concepts:
//
//   - Options describe the surroundings of a pipeline: variables, collation, the database, the
//     disabled rules of the optimiser. They also tell the position of the stage that is being
//     compiled.
//   - A Stage is the result of a stage's parser. It opens a source over another source, and shows
//     itself in explain with the help of Explaining.
//   - ParseSub compiles a pipeline inside a stage. The parser of pipelines is in the Options,
//     because it uses all stages, so no stage can import it.
//   - A Definition describes a stage with all its properties. Code that must know what a stage may
//     do reads the properties.
//   - A Walker is told what the argument of a stage contains: sub-pipelines, queries, expressions.
//   - A Rule names a rule of the optimiser.
//
// Invariants:
//
//  1. A Stage is immutable and safe for concurrent use.
//  2. Options are passed by value: a stage does not change the options of other stages.
//
// The package does not define stages.
//
// To add a property of stages, give Properties a field without a default. The test of the stage
// table then requires it in every definition. To add a rule, give it a constant in Rule and a name
// in ruleNames, and add its function to the optimiser.
package parsing
