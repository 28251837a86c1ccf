// Package bsonxtest reads and generates BSON for tests.
//
// Parse and the other parsers read Extended JSON. Tests of all packages below the commands use
// them. The generators make random BSON for property tests. They prefer values that are close to
// each other or to the limits of their types, because comparisons are most likely to be wrong
// there.
package bsonxtest
