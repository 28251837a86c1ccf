// Package extsort sorts more data than fits into memory. The planner's SORT, the stages $sort and
// $bucketAuto, and the sorts of $setWindowFields and $fill use it.
//
// Concepts:
//
//   - An Entry is a sort key with a value. The byte order of the keys is the order of the sort;
//     package index creates such keys.
//   - A Sorter collects entries, sorts them, and returns them in order. When its memory is full, it
//     writes the entries to a temporary file as a sorted run (package spill). At the end it merges
//     the runs.
//   - A Sorter with a limit keeps only the first entries, in a heap whose root is the last of them.
//
// Invariants:
//
//  1. Entries with equal keys keep the order in which they were added.
//  2. A Sorter holds at most Options.Memory bytes of entries, and one further entry. It reserves
//     memory in the server's budget before it adds a large document (see Reserve). For other
//     entries it accounts for the memory afterwards.
//  3. A Sorter that may not use the disk fails with QueryExceededMemoryLimitNoDiskUseAllowed.
//  4. Every loop over many entries checks whether the operation has ended; see package interrupt.
//  5. Close removes the temporary file and releases the memory.
//
// The package does not create keys and does not know documents.
package extsort
