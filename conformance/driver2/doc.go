// Package driver2 runs the own test suites of the official Go driver, version 2, against the
// server: its unified specification tests, its integration tests and those of its packages that
// need a server.
//
// The specification files are those of the last driver module that carries them.
// SHEAF_SPECIFICATIONS names a checkout of the repository mongodb/specifications to use in their
// place, which is newer.
//
// What is left out stands in exclusions.go, each with its reason.
package driver2
