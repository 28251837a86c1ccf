// Package metamorphic gives the same random operations to databases that differ in what must not
// matter, and compares the answers. It has tests only.
//
// Concepts:
//
//   - An operation is a MongoDB command, or the pseudo command {restart: 1}. A run is a list of
//     them, made from a seed.
//
//   - A variant is a database: without indexes, with indexes, served over TCP in small batches, on
//     disk and opened again in the middle, in transactions, with reads at times of the past, with a
//     sort memory so small that it spills.
//
//   - A family is what the documents and operations of a run are about: scalars, places, words. A
//     ranked read is one that needs an index, by distance or by score: the plain variant answers it
//     with code of the test's own.
//
//   - A setting is a way to run pipelines: optimised or not, with indexes or without, embedded or
//     over TCP, with much memory or little. TestFiles runs the data-driven tests of stages,
//     accumulators and expressions as commands in all settings, TestPipelines random pipelines.
//
//   - A relation ties the answers of one variant together: count and find, a predicate and its
//     negation, what a delete removes.
//
//   - A command of TestCommands is one of any name, with arguments that are right, nearly right or
//     of any type at any depth. It must not be an internal error, close its connection, outlive its
//     time limit, or answer otherwise with indexes than without.
//
// Operations are such that a right answer does not depend on the order in which documents are
// found: writes are of all matches or by _id, sorts end with _id, and no update fails for some of
// the documents only.
//
// A failing run is shortened and written to a file of one command a line, which -metamorphic.replay
// runs again:
//
//	go test ./internal/metamorphic -metamorphic.seed=42 -metamorphic.runs=1
//	go test ./internal/metamorphic -metamorphic.replay=/tmp/run.jsonl
//	go test ./internal/metamorphic -metamorphic.runs=1000 -timeout 2h
//	go test ./internal/metamorphic -run TestCommands -v -metamorphic.commands=1000000 -timeout 0
//	go test ./internal/metamorphic -run Pipelines -metamorphic.seed=42 -metamorphic.runs=1
//
// To add a kind of operation, add a generator to the table in gen_test.go, or to a family as in
// places_test.go; to add a variant, one to the table in variant_test.go; to add a kind of random
// command, a case to commandGen.make in commandgen_test.go; to add a stage to the random pipelines,
// a method to pipelineGen.stage in pipelinegen_test.go.
package metamorphic
