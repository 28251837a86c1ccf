//go:build long

package main

import "github.com/sheafdb/sheaf/examples/internal/demo"

func Example() {
	demo.Test("theatre", run)
	// Output:
	// friends hold [[1 2] [1 3] [1 4]] and another one hears that one is taken: true
	// charge 9000
	// sold for 9000
	//   ... ...
	//   ..xxx..
	//    .....
	//   free: 15
	// nine people at once: 6 have a seat, for 3 none is left
	//   xxx xxx
	//   ..xxx..
	//    .....
	//   free: 9
	// the friends return their seats
	//   xxx xxx
	//   .......
	//    .....
	//   free: 12
	// seating: 0 violations
}
