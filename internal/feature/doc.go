// Package feature describes names of MongoDB's language, and whether the server has them.
//
// Concepts:
//
//   - A feature is a command, an operator, a stage, an accumulator or a window function.
//   - Status says what happens to a use. Each table of definitions lists its features as Info, for
//     docs/compatibility.md, for counters and for tests.
//
// Invariants:
//
//  1. A name that is in no table is unknown to MongoDB, too.
//
// The package has no table: a definition stands beside the code that it describes.
package feature
