// Package pages checks the examples in docs/tour.md, docs/aggregation.md, docs/indexes.md and
// docs/operations. It runs the commands of their console and mongosh blocks, and compares the
// answers with those on the page. `go test ./pages -update` writes the actual answers into the
// pages.
//
// The tests need SHEAF_BIN, npm and the packages of ../node. The server listens on a free port,
// which replaces the default port in the commands. Times and rates in answers are not compared. A
// line that begins with "| " continues the command above it.
package pages
