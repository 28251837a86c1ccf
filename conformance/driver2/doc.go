// Package driver2 runs the test suites of the official Go driver, version 2, against a Sheaf
// server. The suites are the driver's unified specification tests, the integration tests, and the
// tests of the packages that need a server.
//
// The specification files come from the last version of the driver's module that contains them.
// SHEAF_SPECIFICATIONS can name a checkout of the repository mongodb/specifications, whose files
// are newer.
//
// exclusions.go lists the tests that are left out, with the reasons.
package driver2
