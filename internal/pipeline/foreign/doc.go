// Package foreign implements the stages that read other collections: $lookup, $graphLookup and
// $unionWith.
//
// Concepts:
//
//   - source.Collections opens other collections and runs stages over them.
//   - A search by a field of another collection uses an index if possible. Without an index, the
//     second search reads the collection into a table in memory or on disk.
//   - Several goroutines of one run share their table through Tables.
//   - $lookup caches the results of values that may occur again, unless its pipeline uses random
//     values or JavaScript: see IsRepeatable.
//   - $lookup and $graphLookup can be fused with a following $unwind of their array.
//
// Invariants:
//
//  1. An index, a table and a scan find the same documents in the same order.
//  2. The memory that a stage keeps counts against the memory limit of its environment.
//  3. The source of another collection is closed before the next one is opened, or with the stage.
//
// The package does not run sub-pipelines itself: parsing.ParseSub checks them, and
// source.Collections compiles and runs them.
//
// To add a stage that reads collections, write its file here, named for the stage, and add its
// definition to the table of package pipeline.
package foreign
