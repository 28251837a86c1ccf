// Package pipeline compiles and runs aggregation pipelines.
//
// Parse turns an array of stages into a Pipeline. Run connects the Pipeline to a source.Source of
// documents and returns a Source of its results. Documents are pulled one by one, so a pipeline
// without a blocking stage runs in constant memory.
//
// Concepts:
//
//   - A stage has a definition in one table (registry.go): name, parser, properties and status. A
//     stage that MongoDB has and Sheaf does not have yet is in the table and answers
//     NotImplemented.
//   - Package parsing contains the types for compiling stages, package source the types for running
//     them. Some stages have packages of their own: foreign (read other collections), output
//     (write), serverinfo (list server state), unwind.
//   - Split separates the leading $match, $sort, $skip and $limit from the pipeline, so that the
//     planner can run them: see Leading. Needs returns the fields that the other stages read, so
//     that an index may cover them.
//   - Parse optimises: a rule rewrites the steps, and Options.Disable switches rules off. The table
//     of rules is in optimize.go. The file of a rule has its name: movematch.go moves
//     predicates towards the source, fuse.go merges $lookup and $unwind. Package passage decides
//     which predicates may pass which stages. The rules are in this package, because they build
//     the stages.
//   - An update with a pipeline is a Transformer. It allows only stages that turn one document into
//     one document.
//
// Invariants:
//
//  1. A Pipeline is immutable and safe for concurrent use. A Source that Run returns belongs to one
//     goroutine.
//  2. Every loop that may run long without returning a document checks the context.
//  3. A stage that keeps documents copies them and counts their bytes against the memory limit.
//     Beyond the limit it spills to disk, or fails if it cannot.
//  4. A pipeline gives the same documents in the same order whichever rules are disabled. A rule
//     may prevent an error, because fewer documents reach a stage, but never causes one.
//  5. $sort uses the same sort keys as the planner, so both give the same order.
//
// The package does not open collections itself. Stages that read other collections use
// source.Collections.
//
// To add a rule: give it a bit in package parsing, a line in the table and a function from steps to
// steps. The matrix tests run all pipelines of testdata and random ones with each rule switched
// off.
//
// To add a stage: write a file named for the stage, with its parsing.Definition, list the
// definition in registry.go, and add testdata/stage/<name>. A stage for updates compiles with
// Transform in place of Parse. The optional interfaces of package parsing tell the optimiser how it
// may treat the stage: Reader, Narrower, PerDocument, OneToOne, Changer. A Measured stage shows
// statistics of its own in explain. If a server parameter limits the stage's memory, the definition
// has a source.Budget, and the stage's Open takes the limit with Env.For.
package pipeline
