// Package interrupt lets long loops notice that their operation has ended.
//
// Concepts:
//
//   - A Running is the operation for which compiled code runs. Filters and expressions are compiled
//     once and then run for many documents, so they keep a Running instead of a context.
//   - A Meter counts work, and checks after each Interval of work whether the operation has ended.
//     One unit of work is about a nanosecond: one byte copied, or a sixty-fourth of a loop step.
//   - Sort is a stable sort that stops when its operation ends.
//
// Invariants:
//
//  1. Code does at most a few milliseconds of work between two checks.
//  2. A nil *Running never ends, so that code without an operation needs no special case.
package interrupt
