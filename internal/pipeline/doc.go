// Package pipeline compiles and runs aggregation pipelines.
//
// Parse turns an array of stages into a Pipeline; Run puts it over a Source of documents and returns the Source of its
// results. Documents are pulled one by one, so that a pipeline without a blocking stage runs in constant memory.
//
// Concepts:
//
//   - A stage is a definition in one table (registry.go): name, parser, whether an update may use it, and status. A stage
//     that MongoDB has and Sheaf does not have yet is in the table and answers NotImplemented.
//   - A Source yields documents until it returns a nil document. A document is borrowed until the following Next.
//   - The leading $match, $sort, $skip and $limit can be taken off for a planner: see Leading.
//   - An update with a pipeline is a Transformer: the stages that turn one document into one document.
//
// Invariants:
//
//  1. A Pipeline is immutable and safe for concurrent use; the sources that Run makes belong to one goroutine.
//  2. Every loop that may go on without returning a document looks at the context.
//  3. A stage that keeps documents copies them and counts them against the memory limit; beyond it the answer is
//     QueryExceededMemoryLimitNoDiskUseAllowed.
//
// The package knows no collections: stages that read others get them through an interface when they are built.
//
// To add a stage: write its file, named for the stage, put its definition into registry.go, and add
// testdata/stage/<name>.
package pipeline
