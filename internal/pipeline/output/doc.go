// Package output implements the stages that write the results of a pipeline: $out and $merge.
//
// The stages check their arguments and describe their target. The source.Writer of the environment
// writes when the results are read.
//
// Invariants:
//
//  1. The stage writes once, at the first call of Next, and yields no documents.
//  2. The pipeline of a $merge is compiled for each merged document, as in MongoDB. Before that,
//     only the names of its stages are checked.
//
// The package does not open collections or handle transactions.
//
// To add an argument, read it in Out or Merge, add it to the target type of package source, and use
// it in the Writer.
package output
