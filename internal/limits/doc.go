// Package limits has the sizes, depths, lengths and counts that MongoDB bounds, each once.
//
// Concepts:
//
//   - A limit is inclusive: the value itself is allowed, and one beyond it is an error.
//   - The unit is the last word of a name: bytes, depth (documents and arrays open inside each
//     other, the outermost included), otherwise a count.
//   - The comment names MongoDB's constant or parameter, where there is one.
//
// Invariants:
//
//  1. The values are those of MongoDB 8.0. Drivers and applications rely on them.
//  2. Where a limit is enforced, a test has a value at the limit and one beyond it.
//
// The package has no limits that are Sheaf's own, such as sizes of caches and buffers: they stand
// where they are used. To add a limit: add a constant here, and both tests where it is enforced.
package limits
