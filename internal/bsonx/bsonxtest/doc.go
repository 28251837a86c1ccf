// Package bsonxtest parses and generates BSON for tests.
//
// Parse and the other parsers read Extended JSON. The generators create random BSON for property
// tests. They prefer values that are close to each other or to the limits of their types, because
// comparison errors are most likely there.
package bsonxtest
