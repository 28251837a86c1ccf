// Package keyspace says how the keys of a store are divided: which package writes which keys, and
// how they begin. docs/keys.md draws every key.
//
// Concepts:
//
//   - A space is all keys with one first byte.
//   - An identifier is a number that package catalog gives to a collection or an index, and never
//     gives again.
//   - A prefix is a space and an identifier: all that one collection or one index has there.
//
// Invariants:
//
//  1. Each space has one package that writes it.
//  2. The keys of a collection or an index in a space are one range, which a drop deletes as a
//     whole.
//  3. First bytes and lengths are stored and do not change. A test compares them with docs/keys.md.
//
// It does not encode what follows a prefix: package table does that with package keystring.
//
// A new space gets a constant, a line in Spaces and a row in docs/keys.md.
package keyspace
