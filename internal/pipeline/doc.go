// Package pipeline compiles and runs aggregation pipelines.
//
// Parse turns an array of stages into a Pipeline; Run puts it over a Source of documents and returns the Source of its
// results. Documents are pulled one by one, so that a pipeline without a blocking stage runs in constant memory.
//
// Concepts:
//
//   - A stage is a definition in one table (registry.go): name, parser, whether an update may use it, and status. A stage
//     that MongoDB has and Sheaf does not have yet is in the table and answers NotImplemented.
//   - Stages are parsed with what package parsing has, and run on what package source has. Some have
//     packages of their own: foreign (they read other collections), output (they write), serverinfo
//     (the server makes their documents), unwind.
//   - The leading $match, $sort, $skip and $limit can be taken off for a planner: see Leading. Needs tells which fields
//     the rest reads, so that an index may cover them.
//   - Parse optimises: a Rule rewrites the steps, and Options.Disable switches rules off. optimize.go has the table, and a
//     file beside it each family: optimizematch.go (predicates move towards the source, past what optimizepassage.go lets
//     them), optimizemerge.go, optimizelimit.go.
//   - An update with a pipeline is a Transformer: the stages that turn one document into one document.
//
// Invariants:
//
//  1. A Pipeline is immutable and safe for concurrent use; the sources that Run makes belong to one goroutine.
//  2. Every loop that may go on without returning a document looks at the context.
//  3. A stage that keeps documents copies them and counts them against the memory limit; beyond it the answer is
//     QueryExceededMemoryLimitNoDiskUseAllowed.
//  4. A pipeline gives the same documents in the same order whichever rules are applied. A rule may avoid an error, because
//     fewer documents reach a stage, and raises none.
//  5. $sort orders by the keys that the planner's sorts have, so that it does not matter which of them runs.
//
// The package knows no collections: stages that read others get them through source.Collections when they are opened.
//
// To add a rule: give it a bit in package parsing, a line in the table and a function from steps to
// steps; the matrix tests run every pipeline of testdata, and random ones, with each rule switched off.
//
// To add a stage: write its file, named for the stage, with its parsing.Definition; put that into
// registry.go, and add testdata/stage/<name>. What the optimiser may do with the stage it says by
// the optional interfaces of package parsing: Reader, Narrower, PerDocument, OneToOne, Changer.
package pipeline
