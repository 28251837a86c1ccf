// Package retryable stores what retryable writes did, so that a statement that a driver sends
// again is answered and not run again.
//
// Concepts:
//
//   - A Record says what one statement of a session did, or that consecutive statements inserted
//     a document each. The commit of a multi-document transaction has a record, too.
//   - A Record's key is the session and the statement's number; see Space for the bytes.
//   - A History has the records of the newest transaction number of a session. Records of a
//     greater number overwrite older ones one by one. An older record that is left means nothing.
//
// Invariants:
//
//  1. A record is written in the storage transaction of its statement: either both are in the
//     store or neither is.
//  2. Only the command that has the session checked out reads and writes its records.
//  3. A statement that changed nothing has no record: it may run again.
//
// The package does not decide what is retried or how the answer looks; packages write and command
// do. It does not expire anything by itself: Old finds the sessions whose records nobody can ask
// for any more, and Remove deletes them.
//
// To record another kind of statement: a Kind with a new number, because the numbers are stored.
package retryable
