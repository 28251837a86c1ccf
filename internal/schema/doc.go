// Package schema changes what the catalog has: it opens stores, makes, renames and drops
// collections, views and indexes, and builds indexes.
//
// Concepts:
//
//   - A change is one durable step of the catalog. It runs through Change or Define of a
//     table.Store, while the writers of the collections that it concerns are kept out.
//   - A build completes indexes that the catalog has as not ready, while writers go on; see
//     build.go.
//   - A rebuild builds copies of indexes, which then take the places of the old ones.
//   - system.views of a database shows its views. It follows every change; see mirrored.
//   - Garbage is what a drop leaves in storage. It is remembered with the drop and deleted after
//     it.
//
// Invariants:
//
//  1. Each change adds its entry to the oplog in the transaction that makes it durable.
//  2. A function that was given a collection to judge fails with table.ErrChanged where that is not
//     the newest version any more, and has then done nothing.
//  3. What a crash leaves behind is completed or removed when the store opens: garbage, unfinished
//     collections, interrupted builds and rebuilds.
//  4. Gates of several collections are taken in the order of the collections' identifiers; see
//     docs/locks.md.
//
// It does not check specifications, options or privileges: the commands of command/ddl do. It does
// not write documents, but for copies of collections, which it writes as any client would.
//
// A new kind of change is a function here that runs its part of the catalog through mirrored, and
// logs what it did with a function of log.go.
package schema
