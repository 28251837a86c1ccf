// Package concurrencytest runs many clients against one database at once and checks what each of
// them was told. It has tests only.
//
// Concepts:
//
//   - A history is what clients asked and were answered, with the times; it is linearizable if
//     there is an order of the operations, within those times, in which one client alone would have
//     been answered the same. Porcupine finds it.
//   - Everything runs on every engine, through the driver.
//
// What is checked:
//
//  1. The operations on one document are linearizable, by _id and by a unique index.
//  2. A unique index never has duplicates; upserts of one key make one document.
//  3. A queue made of findAndModify gives each job to one taker and loses none.
//  4. A batch of a find is one snapshot: an index scan with its fetches sees each document at most
//     once and as it matched.
//  5. Changes of the catalog beside reads and writes: an index that is built or dropped never
//     changes a result, a rename is seen whole.
//  6. Transactions have snapshot isolation: no transaction sees a sum of balances that never was,
//     none of what transactions and single statements add is lost, and a recorded history of lists
//     that are read and appended to has none of the anomalies G0, G1a to G1c, lost update, read
//     skew (checkHistory; write skew is allowed). Indexes come and go beside them.
//  7. Two commands that change the catalog, at once, or one between two steps of the other, answer
//     and leave what they do one after the other: each pair of them, and import. One with a
//     collectionUUID never touches another collection.
//
// To add a property, write a test that takes its database from onEachEngine.
package concurrencytest
