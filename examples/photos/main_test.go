//go:build long

package main

import "github.com/sheafdb/sheaf/examples/internal/demo"

func Example() {
	demo.Test("photos", run)
	// Output:
	// bob hears that the address is taken: true
	// the account elsewhere is that of ada
	// identity: 0 violations
	// by Canon with an aperture of 3 and more: 2; cameras: [{Canon 3} {Leica 2}]
	// metadata: 0 violations
	// page: [{4 2018} {2 2019}]
	// page: [{3 2019} {0 2020}]
	// page: [{1 2020}]
	// making previews with token 1 while another one hears that it is held: true
	// photo-3 has 19 likes of 2 kinds: map[heart:10 star:9]
	// lock.Tallies: 0 violations
}
