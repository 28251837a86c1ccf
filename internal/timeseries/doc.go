// Package timeseries keeps measurements in buckets: documents that hold the measurements of one
// source and one window of time as columns, as MongoDB's buckets of version 2 do.
//
// A bucket of a collection with timeField t and metaField m:
//
//	{_id: ObjectId, control: {version: 2, min: {t: …, v: …}, max: {t: …, v: …}, count: 3},
//	 meta: {sensor: 1}, data: {t: BinData(7, …), v: BinData(7, …)}}
//
// Concepts:
//
//   - A measurement belongs to the bucket of its meta value (fields in the order of their names)
//     and its window, the span of time into which Options divide the time line.
//   - A column is a field of all measurements of a bucket, compressed in MongoDB's format (BSON
//     binary subtype 7): deltas of integers, of doubles that are decimal fractions, and of deltas
//     of times, packed into words (simple8b).
//   - The head of a window is the bucket that single inserts add to. It is small, so that to write
//     it anew costs little. When it has HeadCount measurements they move into the window's last
//     body, which is full at MaxCount.
//   - The _id of a bucket is computed from its window and its meta value (ID): heads are found
//     without an index and without anything in memory. Bodies have the same _id with a sequence at
//     its end.
//
// Invariants:
//
//  1. Measurements of a bucket are in the order of their times.
//  2. control.min and control.max bound all values, field by field in documents and arrays;
//     control.min's time is rounded down.
//  3. The time of a bucket's _id is not above the time of any of its measurements, and not more
//     than the collection's span below; times that an ObjectId cannot have are its smallest or
//     greatest (Clamp).
//  4. Nothing relies on _ids being free of collisions: who looks for a bucket by its _id compares
//     window and meta value.
//
// The package knows bytes only: it reads and writes no storage. Package write keeps the buckets,
// package pipeline unpacks them.
package timeseries
