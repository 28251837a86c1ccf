// Package source contains the types that running stages share: the sources that they read and
// implement, and the environment of a run.
//
// Concepts:
//
//   - A Source yields documents until it returns nil. Stages embed Input, which forwards the
//     methods that a stage does not override to the source below. Sources of documents in memory
//     embed InMemory.
//   - Env contains the resources that a run needs from the server: other collections, a writer,
//     memory budgets, the disk. A nil Env provides none of them, and default limits.
//   - A document can have metadata, such as a text score. MetaOf asks a source for it. A stage that
//     keeps documents stores their metadata with them, see KeptMeta.
//
// Invariants:
//
//  1. A document is borrowed until the next call of any method of its source.
//  2. A source that reads another one closes it.
//  3. Metadata belongs to the document that Next returned last.
//
// The package does not define stages and does not open collections.
//
// To give stages access to another resource of the server, add a field to Env. The zero value of
// the field must be usable.
package source
