// Package accumulator gathers the values of a group: the accumulators of $group, and of windows.
//
// Parse compiles a use, {$sum: "$price"}, to an Accumulation. New makes an Accumulator of it for
// each group, which takes the value of each document and returns what it gathered.
//
// Concepts:
//
//   - An accumulator is a Definition: its name, how it is made or parsed, and its properties. The
//     definition stands beside the code; table.go lists them all.
//   - State and Merge carry what was gathered from one accumulator to another, through a file or
//     from another goroutine.
//   - finisher and Sater are asked for at run time. They are optimisations: an accumulator
//     without them gives the same results.
//   - Some accumulators are expressions too ($avg over an array). Operators returns these. Some are
//     window functions without more code; Windowed returns these.
//
// Invariants:
//
//  1. An Accumulation is immutable, and used by many goroutines. An Accumulator belongs to one.
//  2. Add copies what it keeps: the document may be gone when it returns.
//  3. An accumulator counts what it keeps in Bytes, and fails beyond 100 MiB.
//  4. A definition answers Depends, StableAPI and Window, which have no default.
//  5. Merging the states of parts in the order of their documents gives the result of the whole.
//
// The package does not know stages, nor how groups are stored.
//
// To add an accumulator, write a file with the accumulator and its Definition, and list the
// Definition in table.go. Add its cases in internal/pipeline/testdata/accumulator/<name>.
package accumulator
