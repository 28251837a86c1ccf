// Package metamorphic runs the same random operations on databases that must give the same answers
// although they are set up differently. It compares the answers. It has only tests.
//
// Concepts:
//
//   - An operation is a MongoDB command, or the pseudo command {restart: 1}. A run is a list of
//     operations, made from a seed.
//
//   - A variant is a setup of a database: without indexes, with indexes, over TCP in small batches,
//     in transactions, or with reads at past times. One variant is on disk and is reopened in the
//     middle. Another one has so little memory for sorts that it spills.
//
//   - A family is the subject of the documents and operations of a run: scalars, places, words. A
//     ranked read needs an index, by distance or by score. For the plain variant, the test computes
//     the answer of a ranked read itself.
//
//   - A setting is a way to run pipelines: optimised or not, with indexes or without, embedded or
//     over TCP, with much memory or little. TestFiles runs the data-driven tests of stages,
//     accumulators and expressions as commands in all settings. TestPipelines runs random
//     pipelines.
//
//   - A relation connects the answers of one variant: count and find, a predicate and its negation,
//     a delete and the remaining documents.
//
//   - A command of TestCommands has any name, and arguments that are right, nearly right, or of any
//     type at any depth. It must not cause an internal error, close its connection, exceed its time
//     limit, or give another answer with indexes than without.
//
// The right answer of an operation never depends on the order in which documents are found. Writes
// affect all matching documents or select by _id, sorts end with _id, and no update fails for only
// some of the documents.
//
// A failing run is shortened and written to a file with one command per line, which
// -metamorphic.replay runs again:
//
//	go test ./internal/metamorphic -metamorphic.seed=42 -metamorphic.runs=1
//	go test ./internal/metamorphic -metamorphic.replay=/tmp/run.jsonl
//	go test ./internal/metamorphic -metamorphic.runs=1000 -timeout 2h
//	go test ./internal/metamorphic -run TestCommands -v -metamorphic.commands=1000000 -timeout 0
//	go test ./internal/metamorphic -run Pipelines -metamorphic.seed=42 -metamorphic.runs=1
//
// To add a kind of operation, add a generator to the table in gen_test.go, or to a family as in
// places_test.go. To add a variant, add it to the table in variant_test.go. To add a kind of random
// command, add a case to commandGen.make in commandgen_test.go. To add a stage to the random
// pipelines, add a method to pipelineGen.stage in pipelinegen_test.go.
package metamorphic
