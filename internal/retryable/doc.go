// Package retryable stores the results of retryable writes. If a driver sends a statement again,
// the stored result is returned, and the statement does not run again.
//
// Concepts:
//
//   - A Record describes the effect of one statement of a session, or of consecutive statements
//     that each inserted a document. The commit of a multi-document transaction has a record, too.
//   - A Record's key is the session and the statement's number; see Space for the bytes.
//   - A History has the records of the newest transaction number of a session. A record with a
//     greater transaction number overwrites the older record of the same statement number. Older
//     records that were not overwritten have no meaning.
//
// Invariants:
//
//  1. A record is written in the storage transaction of its statement: either both are in the
//     store or neither is.
//  2. Only the command that has the session checked out reads and writes its records.
//  3. A statement that changed nothing has no record: it may run again.
//
// The package does not decide which statements are retried, and does not build replies; packages
// write and command do. It does not expire records itself: Old finds the sessions whose records are
// too old, and Remove deletes them.
//
// To record another kind of statement, add a Kind with a new number, because the numbers are
// stored.
package retryable
