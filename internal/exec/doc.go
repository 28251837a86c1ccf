// Package exec implements the operators that query plans are made of: scans, fetches, sorts,
// merges, unions, projections and counts. Package plan decides which operators a query needs and in
// which order. This package runs them.
//
// Concepts:
//
//   - A Node is a pull iterator over Rows. Nodes form a tree; the root's Next drives the whole
//     tree.
//   - An Env holds the state that all nodes of one tree share: the reader, the count of works, the
//     works budget and the memory budget.
//   - A Row is the unit that nodes pass up the tree. It has the key of a record, the document if it
//     was read, and the index entry if the row comes from an index.
//   - A parallelScan divides one collection among several goroutines. Each goroutine runs its own
//     tree with its own Env.
//   - A work is one step of a leaf (reading one record or one index entry) or of a blocking node.
//     As in MongoDB, works measure the cost of competing plans. A tree that has used up its works
//     budget returns ErrPaused from Next and continues when Next is called again.
//
// Invariants:
//
//  1. A Row and everything in it is borrowed until the next call of Next, Save or Close. Nodes that
//     need rows longer copy them.
//  2. After Save a tree holds neither an iterator nor memory borrowed from the reader, only copied
//     positions. The next call of Next continues from the position, with the Env's reader at that
//     time.
//  3. An index entry and the record that it points to are read from one reader.
//  4. Any error but ErrPaused ends the tree: only Close may follow.
//  5. Every loop calls Env.step, itself or in an input. Env.step notices a killed or expired
//     operation.
//  6. Close releases everything, including temporary files, and may be called more than once.
//
// The package does not choose plans, does not know the plan cache and does not print explain
// output. It only maintains the counters that explain prints.
//
// To add an operator, write a file with a struct that embeds base, a constructor that takes the Env
// and the input nodes, Next and IsEOF. Its plan node and explain output belong to package plan.
package exec
