// Package storagetest is the conformance suite of storage engines. It tests the promises of package
// storage on any engine.
//
// Concepts:
//
//   - Run takes a function that opens an empty engine. It runs every test of the table in suite.go
//     on an engine of its own.
//   - Model runs random histories on an engine and on the reference engine, and compares every
//     result. It uses rapid, which shrinks a failing history and prints it with its seed.
//
// To add a test, write a function in the file of its subject and a line in the table.
//
// The suite does not test properties beyond the interface, such as durability after a crash. They
// depend on the medium, and each engine tests them itself.
package storagetest
