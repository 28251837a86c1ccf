// Package window computes the functions of $setWindowFields over the documents of a partition.
//
// Parse compiles a use to a Function. Open creates an Exec from it for each partition. The caller
// asks the Exec for the value at each document in turn.
//
// Concepts:
//
//   - A Partition provides documents in order and counts the memory that functions use. The stage
//     implements it, because it spills documents to disk.
//   - Most functions are a state over a frame of documents or sort values. sliding.go moves the
//     frame: it adds the documents that enter the frame to the state, and removes the documents
//     that leave it. Accumulators are such states.
//   - A definition describes a function and stands in its file. table.go lists all definitions.
//
// Invariants:
//
//  1. A Function is immutable. An Exec belongs to one goroutine. It also belongs to one partition,
//     unless it is Resettable.
//  2. The caller asks an Exec for all documents in order. An Exec never reads a document before the
//     current one: it keeps the values that it needs.
//  3. An Exec counts the memory that it uses with Partition.Grow, or it implements memory.Keeper.
//
// The package does not sort documents, and does not depend on stages or on where documents are
// stored.
//
// An accumulator becomes a window function through the property Window of its definition. To add
// another function: write its file with its definition, list the definition in table.go, and add
// testdata/window/<name> in internal/pipeline.
package window
