// Package output has the stages that write what a pipeline yields: $out and $merge.
//
// The stages check their arguments and describe their target; source.Writer of the environment does
// the writing when the pipeline is read.
//
// Invariants:
//
//  1. The stage writes once, at the first Next, and yields no documents.
//  2. The pipeline of a $merge is compiled for each document that is merged, as in MongoDB; until
//     then only the names of its stages are checked.
//
// The package opens no collections and knows no transactions.
//
// To add an argument, read it in Out or Merge, put it into the target of package source, and use it
// in the Writer.
package output
