// Package pages runs documents as they stand, docs/tour.md, docs/aggregation.md, docs/indexes.md
// and those of docs/operations: the commands of their console and mongosh blocks, whose answers
// must be those on the page. `go test ./pages -update` writes the answers of a real run into the
// pages.
//
// It needs SHEAF_BIN, npm and the packages of ../node. The server listens on a free port, which the
// test puts in the place of the default one. Times and rates in answers are not compared. A line
// that begins with "| " after a command goes on with it.
package pages
