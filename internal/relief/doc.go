// Package relief keeps the server within its memory limit.
//
// A Relief compares the memory of the Go runtime with the limit. If it stays over the limit in
// spite of garbage collection, the Relief closes idle cursors and ends the older half of the
// running operations. A Watch frees memory for messages that wait for their share of it.
// Establishment limits the rate of new connections.
//
// Invariants:
//
//  1. Commands that free memory, or that operators need in this situation (killOp, serverStatus and
//     others), are never ended. The definition of a command says so with its property Expendable,
//     and its operation with session.OpInfo.Spared.
//  2. The data of an in-memory store does not count: no operation is ended because of it.
package relief
