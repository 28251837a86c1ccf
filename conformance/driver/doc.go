// Package driver runs the official Go driver's own tests against a Sheaf server: the unified
// specification tests that the module go.mongodb.org/mongo-driver ships, through the runner that
// the module exports.
//
// The server comes from package target. A test that cannot pass yet, or never will, stands in
// exclusions.go with its reason; SHEAF_ALL=1 runs those too. The last lines of a run count what
// passed and list what was left out.
package driver
