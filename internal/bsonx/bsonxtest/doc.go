// Package bsonxtest reads and generates BSON for tests.
//
// Parse and its relatives read Extended JSON. They are the only such parsers of tests below the
// commands. The generators make random BSON for property tests. They prefer values that are close
// to each other and to the limits of their types, because comparisons go wrong there.
package bsonxtest
