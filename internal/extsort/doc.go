// Package extsort sorts more than fits into memory. The planner's SORT, the stages $sort and
// $bucketAuto, and the sorts of $setWindowFields and $fill use it.
//
// Concepts:
//
//   - An Entry is a sort key and what belongs to it. The byte order of the keys is the wanted
//     order; package index makes such keys.
//   - A Sorter collects entries, sorts them, and returns them in order. When its memory is full it
//     writes them to a temporary file as a sorted run (package spill). At the end it merges the
//     runs.
//   - With a limit a Sorter keeps the first entries only, in a heap whose root is the last of them.
//
// Invariants:
//
//  1. Entries with equal keys keep the order in which they were added.
//  2. A Sorter holds at most Options.Memory bytes of entries, and one entry more. Its part of the
//     server's budget is taken before the entries grow by large documents (see Reserve), else
//     after.
//  3. A Sorter that may not use the disk fails with QueryExceededMemoryLimitNoDiskUseAllowed.
//  4. Every loop over many entries looks at the operation; see package interrupt.
//  5. Close removes the temporary file and gives the memory back.
//
// The package does not make keys and does not know documents.
package extsort
