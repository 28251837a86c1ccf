// Package arrival tells waiters that something has arrived: a record in a capped collection, an
// entry in the oplog.
//
// Concepts:
//
//   - A waiter asks a Signal for a channel, which is closed after the next arrival.
//   - A rest follows each time that waiters were woken: until it is over, arrivals are only
//     counted.
//
// Invariants:
//
//  1. A channel is closed after the first arrival that follows Wait, at the latest when the rest
//     ends.
//  2. An arrival for which nobody waits costs two atomic operations.
//
// It does not say what arrived: waiters look themselves, in a snapshot that they take after Wait.
package arrival
