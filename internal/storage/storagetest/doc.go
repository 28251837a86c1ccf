// Package storagetest is the conformance suite of storage engines: what package storage promises,
// as tests that any engine runs.
//
// Concepts:
//
//   - Run takes a function that opens an empty engine, and runs every test of the table in suite.go
//     on engines of its own.
//   - Model runs random histories on an engine beside the reference engine and compares every
//     answer, with rapid: a failing history is shrunk and printed with its seed.
//
// To add a test, write a function in the file of its subject and a line in the table.
//
// It does not test what an engine does beyond the interface, such as durability after a crash: that
// depends on the medium and is tested beside the engine.
package storagetest
