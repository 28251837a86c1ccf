// Package limits defines the sizes, depths, lengths and counts that MongoDB limits, each once.
//
// Concepts:
//
//   - A limit is inclusive: the value itself is allowed, and a greater value is an error.
//   - The last word of a name is its unit: bytes, characters, seconds, millis, or depth (the number
//     of nested documents and arrays, including the outermost). Other limits are counts.
//   - The comment names MongoDB's constant or parameter, if there is one. The limits of patterns
//     that come from MongoDB's library name the constant of PCRE2.
//
// Invariants:
//
//  1. The values are the values of MongoDB 8.0. Drivers and applications rely on them.
//  2. Each limit has a test with a value at the limit and a value beyond it.
//
// The package has no constants of Sheaf itself: sizes of caches and buffers, pauses, and bounds
// that MongoDB lacks, such as the memory of a trial or the longest time that is kept as a duration.
// They are defined where they are used, and so are the lengths that belong to a stored format, such
// as the prefix of a long term in a text index. To add a limit, add a constant here, and both tests
// where it is enforced.
package limits
