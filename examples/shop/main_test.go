//go:build long

package main

import "github.com/sheafdb/sheaf/examples/internal/demo"

func Example() {
	demo.Test("shop", run)
	// Output:
	// Desk lamp costs 3990; then 2 products are migrated
	// schema: 0 violations
	// Do it yourself > Embedded > Boards; products below Do it yourself: 1
	// category: 0 violations
	// joe hears that there are not two left: true
	// confirm-ann 7980
	// confirm-joe 3990
	// 2 jobs are done, 0 are not
	// cart: 0 violations
	// queue: 0 violations
}
