// Package arrival tells waiters that something has arrived: a record in a capped collection, or an
// entry in the oplog.
//
// Concepts:
//
//   - A waiter gets a channel from a Signal. The channel is closed after the next arrival.
//   - A rest is a pause after waiters were woken. During a rest arrivals are only counted.
//
// Invariants:
//
//  1. A channel is closed after the first arrival that follows Wait, at the latest when the rest
//     ends.
//  2. An arrival for which nobody waits costs two atomic operations.
//
// A Signal does not tell what arrived: the waiters take a snapshot after Wait and read it.
package arrival
