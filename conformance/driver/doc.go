// Package driver runs the tests of the official Go driver, version 1, against a Sheaf server. These
// are the unified specification tests in the module go.mongodb.org/mongo-driver. The module exports
// a runner for them.
//
// Package target finds the server. Tests that cannot pass yet, or never will, are listed in
// exclusions.go with a reason. SHEAF_ALL=1 runs them too. At the end, a run prints how many tests
// passed and which ones were left out.
package driver
