//go:build long

package main

import "github.com/sheafdb/sheaf/examples/internal/demo"

func Example() {
	demo.Test("billboard", run)
	// Output:
	// ann sees New shoes!
	// ann sees nothing
	// bob sees Sail away!
	// bob sees New shoes!
	// cyd sees New shoes!
	// dan sees nothing
	// shoes: 3 impressions, 300 of 300 spent
	// ads: 0 violations
}
