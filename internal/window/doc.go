// Package window computes the functions of $setWindowFields over the documents of a partition.
//
// Parse compiles a use to a Function. Open makes an Exec of it for each partition, which is asked
// for its value at one document after the other.
//
// Concepts:
//
//   - A Partition gives documents in order, and counts the memory that functions keep. The stage
//     implements it, because it spills documents that wait.
//   - Most functions are a state over a frame of documents or of values: sliding.go moves the
//     frame, adds what comes into it and removes what leaves. Accumulators are such states.
//   - A function is a definition, which stands beside its code. table.go lists them all.
//
// Invariants:
//
//  1. A Function is immutable. An Exec belongs to one goroutine, and to one partition unless it is
//     Resettable.
//  2. An Exec is asked for all documents in order, and asks for no document before the current one:
//     it keeps the values that it needs.
//  3. What an Exec keeps is counted with Partition.Grow.
//
// The package does not sort, and knows neither stages nor where documents wait.
//
// An accumulator becomes a function by what its definition says of windows. To add another function:
// write its file with its definition, name the definition in table.go, and add
// testdata/window/<name> in internal/pipeline.
package window
