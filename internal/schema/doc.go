// Package schema changes the catalog: it opens stores, creates, renames and drops collections,
// views and indexes, and builds indexes.
//
// Concepts:
//
//   - A change is one durable step of the catalog. It runs through Change or Define of a
//     table.Store, while the writers of the affected collections are blocked.
//   - A build completes indexes that are not ready in the catalog, while writers continue; see
//     build.go.
//   - A rebuild builds new copies of indexes, which then replace the old ones.
//   - The collection system.views of a database lists its views. Every change updates it; see
//     mirrored.
//   - Garbage is the data that a dropped collection or index leaves in storage. The drop records
//     it, and it is deleted afterwards.
//
// Invariants:
//
//  1. Each change adds its entry to the oplog in the transaction that makes it durable.
//  2. Many functions take a collection that the caller has checked. If it is not the newest version
//     any more, they change nothing and fail with table.ErrChanged.
//  3. When the store opens, the remains of a crash are completed or removed: garbage, unfinished
//     collections, interrupted builds and rebuilds.
//  4. Gates of several collections are taken in the order of the collections' identifiers; see
//     docs/locks.md.
//
// The package does not check specifications, options or privileges: the commands of command/ddl do.
// It does not write documents, except for copies of collections, which it writes as any client
// would.
//
// A new kind of change is a function here that runs its part of the catalog through mirrored, and
// logs the change with a function of log.go.
package schema
