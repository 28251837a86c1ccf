// Package timeseries stores measurements in buckets. A bucket is a document with the measurements
// of one source in one time window, stored as columns, like MongoDB's buckets of version 2.
//
// A bucket of a collection with timeField t and metaField m:
//
//	{_id: ObjectId, control: {version: 2, min: {t: …, v: …}, max: {t: …, v: …}, count: 3},
//	 meta: {sensor: 1}, data: {t: BinData(7, …), v: BinData(7, …)}}
//
// Concepts:
//
//   - A measurement belongs to the bucket of its meta value (with sorted field names) and of its
//     window. Options divide the time line into windows.
//   - A column has one field of all measurements of a bucket, compressed in MongoDB's format (BSON
//     binary subtype 7). It has deltas of integers, of doubles that are decimal fractions, and
//     deltas of deltas of times, packed into words (simple8b).
//   - The head of a window is the bucket to which single inserts add. It is small, so that
//     rewriting it is cheap. When it has HeadCount measurements, they move to the last body of the
//     window. A body is full at MaxCount measurements.
//   - The _id of a bucket is computed from its window and its meta value (ID). So a head is found
//     without an index, and without state in memory. The _ids of bodies differ only in the sequence
//     number at the end.
//
// Invariants:
//
//  1. Measurements of a bucket are sorted by time.
//  2. control.min and control.max bound all values, field by field in documents and arrays. The
//     time in control.min is rounded down.
//  3. The time of a bucket's _id is not after the time of any of its measurements, and at most the
//     collection's span before it. A time that does not fit into an ObjectId becomes the smallest
//     or greatest that does (clamp).
//  4. The _ids of different buckets may collide. Code that looks up a bucket by its _id compares
//     window and meta value.
//
// The package works only on bytes: it does not access storage. Package write maintains the buckets,
// and package pipeline unpacks them.
package timeseries
