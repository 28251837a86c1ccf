// Package foreign has the stages that read other collections: $lookup, $graphLookup and $unionWith.
//
// Concepts:
//
//   - The collections are opened by source.Collections, with stages that run over them.
//   - A field of another collection is searched through an index where there is one. Without one the
//     second search reads the collection into a table, in memory or on the disk.
//   - Tables are the tables that several goroutines of one run share.
//   - $lookup keeps results of values that it may see again, unless its pipeline uses chance or
//     JavaScript: see IsRepeatable.
//   - $lookup and $graphLookup take their arrays apart themselves where a $unwind follows.
//
// Invariants:
//
//  1. An index, a table and a scan find the same documents, in the same order.
//  2. What a stage keeps is counted against the memory limit of its environment.
//  3. The source of another collection is closed before the next one is opened, or with the stage.
//
// The package compiles no pipelines: parsing.ParseSub checks those in its stages, and
// source.Collections compiles them to run them.
//
// To add a stage that reads collections, write its file here, named for the stage, and put its
// parser into the table of package pipeline.
package foreign
