// Package interrupt lets long loops notice that their operation has ended.
//
// Concepts:
//
//   - A Running names the operation that compiled code serves. Filters and expressions are compiled
//     once and then run for many documents, so that they keep a Running instead of a context.
//   - A Meter counts work and looks at the operation once per Interval of it. Work is about a
//     nanosecond: a byte copied, a sixty-fourth of a step of a loop.
//   - Sort is a stable sort that stops when its operation ends.
//
// Invariants:
//
//  1. Between two looks at the operation code does at most a few milliseconds of work.
//  2. A nil *Running never ends, so that code without an operation needs no special case.
package interrupt
