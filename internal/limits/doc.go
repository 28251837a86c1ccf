// Package limits defines the sizes, depths, lengths and counts that MongoDB limits, each once.
//
// Concepts:
//
//   - A limit is inclusive: the value itself is allowed, and a greater value is an error.
//   - The last word of a name is its unit: bytes, or depth (the number of nested documents and
//     arrays, including the outermost). Other limits are counts.
//   - The comment names MongoDB's constant or parameter, if there is one.
//
// Invariants:
//
//  1. The values are the values of MongoDB 8.0. Drivers and applications rely on them.
//  2. Each limit has a test with a value at the limit and a value beyond it.
//
// The package has no limits of Sheaf itself, such as sizes of caches and buffers: these are defined
// where they are used. To add a limit, add a constant here, and both tests where it is enforced.
package limits
