// Package accumulator implements the accumulators of $group, which compute a value from the
// documents of a group. Window functions use them too.
//
// Parse compiles a use such as {$sum: "$price"} to an Accumulation. New creates an Accumulator from
// it for each group. The Accumulator receives the value of each document and returns the result.
//
// Concepts:
//
//   - A Definition describes an accumulator: its name, how to create or parse it, and its
//     properties. It stands in the file of the accumulator; table.go lists all definitions.
//   - State and Merge move an intermediate state from one accumulator to another, through a file or
//     between goroutines.
//   - finisher and Sater are optional interfaces. finisher delays work; Sater is an optimisation
//     that does not change results.
//   - Some accumulators are also expressions, such as $avg over an array: see Operators. Some are
//     also window functions without additional code: see Windowed.
//
// Invariants:
//
//  1. An Accumulation is immutable and safe for concurrent use. An Accumulator belongs to one
//     goroutine.
//  2. Add copies what it keeps: the document may become invalid when Add returns.
//  3. An accumulator reports the memory that it uses in Bytes, and fails above
//     limits.ExpressionBytes (100 MiB).
//  4. Every definition sets Depends, StableAPI, Window and InputOrder, which have no default.
//  5. Merging the states of parts in document order gives the same result as adding all values.
//
// The package does not depend on stages, or on how groups are stored.
//
// To add an accumulator, write a file with the accumulator and its Definition, and list the
// Definition in table.go. Add test cases in internal/pipeline/testdata/accumulator/<name>.
package accumulator
