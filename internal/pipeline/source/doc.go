// Package source holds what all stages of a pipeline share while they run: the sources that they
// read and become, and the environment of a run.
//
// Concepts:
//
//   - A Source yields documents until it returns nil. Stages embed Input, which passes on to the
//     source below what they do not do themselves; sources of documents in memory embed InMemory.
//   - Env is what a run needs from outside: other collections, a writer, budgets of memory, the
//     disk. A nil Env has none of them, and the default limits.
//   - Metadata accompanies a document: MetaOf asks a source for it. A stage that keeps documents
//     keeps their metadata behind them, see KeptMeta.
//
// Invariants:
//
//  1. A document is borrowed until the next call of any method of its source.
//  2. A source that reads another one closes it.
//  3. Metadata belongs to the document that Next returned last.
//
// The package knows no stages and opens no collections.
//
// To give stages something else of the server, add a field to Env, whose zero value must do.
package source
