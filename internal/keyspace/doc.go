// Package keyspace defines how the keys of a store are divided: which package writes which keys,
// and how they begin. docs/keys.md draws every key.
//
// Concepts:
//
//   - A space is the set of all keys with the same first byte.
//   - An identifier is a number that package catalog assigns to a collection or an index. It is
//     never reused.
//   - A prefix is a space and an identifier. It begins all keys of one collection or index in a
//     space.
//
// Invariants:
//
//  1. Only the packages in Space.Writers write the keys of a space. A test checks the list.
//  2. The keys of a collection or an index in a space are one range, which a drop deletes as a
//     whole.
//  3. First bytes and lengths are stored and do not change. A test compares them with docs/keys.md.
//
// The package does not encode the rest of a key after the prefix: package table does that with
// package keystring.
//
// A new space gets a constant, a line in Spaces and a row in docs/keys.md.
package keyspace
