// Package read is the read engine: it finds, counts, aggregates and watches documents for the
// commands, and fills the batches of their cursors.
//
// An Engine holds the state that all reads of a server share: the store, the planner, budgets,
// snapshots and counters. Reads gives one command its collections, from a table.View: the newest
// committed state, the state that its transaction sees, or a snapshot. Reads creates a source of
// documents for a query (OpenSource), for a pipeline (Pipelines) and for a change stream
// (OpenChangeStream). Batch writes documents of a source into a reply and keeps the cursor for the
// next batches.
//
// Invariants:
//
//  1. A source holds no storage snapshot between batches, unless the read concern is "snapshot".
//  2. A plan is made after its snapshot was taken. If the catalog changed in between, table.RetryOn
//     looks the collection up again and plans the query again.
//  3. A view is replaced by its collection and its stages before anything is planned, so that a
//     predicate on a view can use an index.
//  4. Hooks of the Engine describe the server ($collStats, virtual collections): this package does
//     not know the commands.
//
// The package does not parse commands and does not write. To add a stage that reads in another way,
// see package pipeline. To add a source, implement session.Source, and Ender if its end can be
// known without a further read.
package read
