// Package relief keeps the server within its memory.
//
// A Relief measures what Go's memory exceeds in spite of garbage collection, and then ends idle
// cursors and the older half of the running operations. A Watch frees memory for messages that wait
// for it. Establishment limits how many connections are established in a second.
//
// Invariants:
//
//  1. Commands that free memory, or that operators need then (killOp, serverStatus, …), never end.
//  2. What a store in memory holds is data: no operation ends for it.
package relief
