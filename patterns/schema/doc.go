// Package schema changes the structure of documents while programs run. A program reads every
// document in the newest structure. Documents are migrated when they are written, or in batches
// that may be interrupted. The package also shortens field names in the database, and runs jobs
// that check and correct documents.
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
// A collection accepts documents of any structure, so a new program can write without altering the
// collection first. But then every reader has to know all structures that documents ever had. With
// this package, a program knows only the newest structure, and a step from each version to the
// next. Readers apply the steps in memory. Writers and a background job apply them and store the
// result.
//
// When not to use it: if one updateMany can change all documents in a moment while nobody writes,
// for example a few thousand documents. Also not for rules that the server can check at each write:
// use a validator of the collection.
//
// # The documents
//
//	products: {_id: 7, title: "Blue Train", …, schema: 2}
//	jobs:     {_id: "names of authors", due: ISODate("2026-05-01T13:00:00Z"), started: ISODate("…"),
//	           ended: ISODate("…"), found: 0, changed: 3, fence: NumberLong(12)}
//	jobs.locks: see package lock
//	indexes:  products {schema: 1}
//
// A document without a version has version 0. The package stores no progress of a migration: the
// documents to migrate are the ones that the index finds below the current version. Each job has
// one document.
//
// # Operations
//
//	Get              1 find; the steps are executed in memory
//	Upgrade, Decode  nothing: for the documents of a cursor
//	Insert           1 insert
//	Update           1 update, conditional on the current version
//	                 for an older document also 1 find, 1 conditional replace and 1 more update
//	Migrate          for each batch 1 find and 1 bulkWrite of conditional replaces
//	Pending          1 count
//
//	Jobs             1 findAndModify to take the lease, 1 find of the jobs' states; for each due job its
//	                 own commands and 1 update
//	Structure        1 updateMany and 1 find, with $jsonSchema: reads all
//	Copies           1 aggregate with $lookup; a bulkWrite for each 1000 stale documents
//	Duplicates       1 aggregate: reads all
//	Prepare          1 insertMany
//	Summary          1 aggregate with $merge or $out
//
// A replace is conditional on the whole document, because a step may depend on any of its fields.
// The command therefore contains the old and the new document, which together must be smaller than
// 16 MiB.
//
// # Guarantees
//
//   - A reader gets the same document whether it is already migrated or not.
//   - A migration never overwrites an update by somebody else. It reads a document again if the
//     document has changed since it was read.
//   - Migrate may run any number of times, in several processes at once, and may be interrupted
//     anywhere. The result of each step is stored only once for a document.
//   - If a step fails for a document, the document stays unchanged and the migration continues with
//     the others.
//   - A program that is older than a document cannot read or change it through this package
//     (ErrNewer). Deploy the new program everywhere before you call Migrate, and make sure that old
//     programs do not write fields that a step removes.
//   - One process at a time executes jobs, as far as the clocks agree (package lock). A process may
//     sleep through the end of its lease, so two processes may execute the same job for a moment.
//     Tasks must allow this. The tasks of this package do: they change only documents that they
//     found wrong and that are still the same. The stored state of a job is guarded by a fence: a
//     process that slept cannot overwrite it.
//
// # After a crash
//
// After a crash during a migration, the collection has documents of both versions, which all
// readers understand. After a crash during a job, the lease ends and the job is still due, so the
// next process executes it again. There is nothing to repair.
//
// # Short names
//
// Each document stores the names of its fields. Names translates between long and short names in
// documents, filters, updates, projections, sorts and index keys. Aggregation pipelines and
// expressions must use the short names. On disk, compression already removes most of the cost of
// long names. It does not help in caches of uncompressed data or on the wire. Measure before you
// make documents hard to read. Go structs do not need Names: their tags do the same.
//
// # Levels
//
// A query without an index compares the fields of each document one after the other until it has
// found the field. In a document with subdocuments it can skip a whole subdocument by its length.
// Inspected counts these comparisons, and the step Group moves fields into a subdocument. An index
// is better.
//
// # Metrics
//
// schema.migrated counts migrated documents, and schema.jobs counts executions of jobs.
// schema.job.<name> observes their durations.
//
// # Scaling
//
// Documents keep their shard key; a step may not change it. Migrate queries all shards for old
// documents, and writes by _id and the shard key of the replacement. Migrations and jobs read from
// primaries.
//
// # Source
//
// The pattern is in "MongoDB Applied Design Patterns", chapter 2 (S06), and in "50 Tips and Tricks
// for MongoDB Developers", tips 13 (jobs, S51) and 26 (levels, S52). The books set a single default
// value when reading, and only say that a migration runs in small batches. They do not treat
// versions, conditional writes or crashes. For jobs they name the kinds, but not which process
// executes them, or what happens if two do. The job that makes backups is a tool for operators and
// is not part of this package.
package schema
