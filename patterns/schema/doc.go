// Package schema lets documents change their form while programs run. Readers get the newest form,
// and documents are migrated when they are written, or in batches that may be interrupted. The
// package also shortens field names in the store, and runs jobs that check and mend documents.
//
//	products, err := schema.New(db, schema.Config{Collection: "products", Steps: []schema.Step{
//		schema.Rename("name", "title"),
//		schema.Default("stock", 0),
//	}})
//	if err != nil {
//		log.Fatal(err)
//	}
//	if err := products.EnsureIndexes(ctx); err != nil {
//		log.Fatal(err)
//	}
//	var p struct {
//		Title string
//		Stock int
//	}
//	if err := products.Get(ctx, 7, &p); err != nil {
//		log.Fatal(err)
//	}
//
// # The problem
//
// A collection takes documents of any form, so nothing has to be altered before a new program can
// write. But then documents of all forms that there ever were have to be read for ever, and each
// reader must know them all. Here a program knows one form, and steps from each form to the next:
// readers execute them in memory, writers and a job in the background execute them for good.
//
// When not to use it: for a few thousand documents that one updateMany changes in a moment, while
// nobody writes. For rules that a server can check at each write: a validator of the collection
// does that.
//
// # The documents
//
//	products: {_id: 7, title: "Blue Train", …, schema: 2}
//	jobs:     {_id: "names of authors", due: ISODate("2026-05-01T13:00:00Z"), started: ISODate("…"), ended: ISODate("…"),
//	           found: 0, changed: 3, fence: NumberLong(12)}
//	jobs.locks: see package lock
//	indexes:  products {schema: 1}
//
// A document without a version is of version 0. The pattern keeps no state of a migration: what is
// to be done is what the index has below the current version. There is one document for each job.
//
// # Operations
//
//	Get              1 find; the steps are executed in memory
//	Upgrade, Decode  nothing: for the documents of a cursor
//	Insert           1 insert
//	Update           1 update, conditional on the current version; for an older document 1 find, 1 conditional replace, 1 update more
//	Migrate          for each batch 1 find and 1 bulkWrite of conditional replaces
//	Pending          1 count
//
//	Jobs             1 findAndModify to take the lease, 1 find of what is due, and for each job its own commands and 1 update
//	Structure        1 updateMany and 1 find, with $jsonSchema: reads all
//	Copies           1 aggregate with $lookup; a bulkWrite for each 1000 stale documents
//	Duplicates       1 aggregate: reads all
//	Prepare          1 insertMany
//	Summary          1 aggregate with $merge or $out
//
// A replace is conditional on the whole document being what was read, as a step may depend on all
// of it: an old document and its new form are together less than 16 MiB.
//
// # Guarantees
//
//   - A reader sees an old form with its defaults, or the new one: the same either way.
//   - A migration loses no update of others: a document that has changed since it was read is read
//     again.
//   - Migrate may run any number of times, by several processes, and be interrupted anywhere. Each
//     step is executed once on what is stored.
//   - A document for which a step fails stays as it is, and does not hold up the others.
//   - A program that is older than a document does not touch it through this package (ErrNewer).
//     Bring new programs everywhere before Migrate, and keep old ones from writing what a step
//     removes.
//   - One process at a time executes jobs, as far as clocks agree (package lock). As a process may
//     sleep through the end of its lease, two may for a moment: tasks must not mind, and those here
//     do not. They write only what they have seen to be wrong, and only if it is still so. What is
//     noted of a job is fenced: a process that slept does not overwrite it.
//
// # What a crash leaves
//
// In the middle of a migration, documents of both forms, which all readers understand. In the
// middle of a job, a lease that ends, and a job that is still due: the next process executes it
// again. There is nothing to repair.
//
// # Short names
//
// Documents store the names of their fields. Names maps long ones to short ones in documents,
// filters, updates, projections, sorts and keys of indexes, and back. Aggregations and expressions
// are written with the short ones. Compression makes up for most of it on disk, but not in caches
// of uncompressed data or on the wire: measure before you make documents hard to read. Structs need
// only their tags.
//
// # Levels
//
// A search without an index goes through each document's fields in their order until it has found
// the one. In a document of levels it skips groups by their length: Inspected counts what is looked
// at, and Group is the step that makes levels. An index is better.
//
// # Metrics
//
// schema.migrated counts documents, schema.jobs executions of jobs; schema.job.<name> is how long
// those took.
//
// # Scaling
//
// Documents keep their shard key; a step may not change it. Migrate asks all shards for what is
// old, and writes by _id and the replacement's key. Migrations and jobs read from primaries.
//
// # Source
//
// "MongoDB Applied Design Patterns", chapter 2 (S06); "50 Tips and Tricks for MongoDB Developers",
// tips 13 (jobs, S51) and 26 (levels, S52). The books set one default when reading, and say of the
// migration only that it is done in small batches: versions, conditions and what happens when it
// dies are not there. Of the jobs they name the kinds; who executes them, and what if two do, is
// left open. The job that makes backups is an operator's tool, and not here.
package schema
