// Package exec holds the operators that query plans are made of: scans, fetches, sorts, merges, unions, projections
// and counts. Package plan decides which operators a query needs and in which order; this package runs them.
//
// Concepts:
//
//   - A Node is a pull iterator over Rows. Nodes form a tree; the root's Next drives the whole tree.
//   - An Env is what all nodes of one tree share: the reader, the context's interrupt check, the works budget.
//   - A Row is what travels up: a record's key, its document where it was read, its index entry where it came from
//     an index.
//   - A parallelScan gives several goroutines a tree of their own each, with its own Env, over parts of one collection.
//   - A work is one step of a leaf (one record or one index entry looked at) or of a blocking node. Works measure
//     plans against each other, as in MongoDB: a tree that has used up its budget returns ErrPaused from Next and
//     goes on where it stopped when it is called again.
//
// Invariants:
//
//  1. A Row and everything in it is borrowed until the following call of Next, Save or Close. Nodes that hold rows
//     longer copy them.
//  2. After Save a tree holds no iterator and no borrowed memory of the reader, only copied positions. The next Next
//     reads from the Env's reader of that time, from the position on.
//  3. An index entry and the record that it points to are read from one reader.
//  4. Any error but ErrPaused ends the tree: only Close may follow.
//  5. Every loop passes Env.step, which notices a killed or expired operation.
//  6. Close releases everything, temporary files too, and may be called more than once.
//
// The package does not choose plans, knows no plan cache and prints no explain output; it only counts.
//
// To add an operator: a file with a struct that embeds base, a constructor that takes its input nodes and the Env, and
// Next; its plan node and explain output go to package plan.
package exec
