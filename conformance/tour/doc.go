// Package tour runs docs/tour.md as it stands: the commands of its console and mongosh blocks, whose answers must be those
// on the page. `go test ./tour -update` writes the answers of a real run into the page.
//
// It needs SHEAF_BIN, npm and the packages of ../node. The server listens on a free port, which the test puts in the place
// of the default one. Times and rates in answers are not compared.
package tour
