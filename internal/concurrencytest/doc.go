// Package concurrencytest runs many clients against one database at the same time and checks the
// replies that they get. It has only tests.
//
// Concepts:
//
//   - A history is the list of the clients' requests and replies, with their times. It is
//     linearizable if there is an order of the operations, within these times, in which a single
//     client would get the same replies. Porcupine finds such an order.
//   - Everything runs on every engine, through the driver.
//
// These conditions are checked:
//
//  1. The operations on one document are linearizable, by _id and by a unique index.
//  2. A unique index never has duplicates. Upserts of one key make one document.
//  3. A queue that uses findAndModify gives each job to one worker and loses no job.
//  4. A batch of a find is one snapshot: an index scan with its fetches sees each document at most
//     once, and in a version that matched.
//  5. DDL runs concurrently with reads and writes: building or dropping an index never changes a
//     result, and a rename is seen completely or not at all.
//  6. Transactions have snapshot isolation. No transaction sees a sum of balances that never
//     existed. Nothing that transactions and single statements add is lost. A recorded history of
//     lists that are read and appended to has none of the anomalies G0, G1a to G1c, lost update
//     and read skew (checkHistory; write skew is allowed). Indexes are built and dropped
//     meanwhile.
//  7. Two DDL commands that run at the same time, or one between two steps of the other, have the
//     same effects and replies as one after the other. This is checked for each pair of commands,
//     and for import. A command with a collectionUUID never affects another collection.
//
// To add a property, write a test that takes its database from onEachEngine.
package concurrencytest
