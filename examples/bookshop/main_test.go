//go:build long

package main

import "github.com/sheafdb/sheaf/examples/internal/demo"

func Example() {
	demo.Test("bookshop", run)
	// Output:
	// a book without pages is refused: true
	// 2 books by genre: [{novel 2} {comedy 1}]
	// who has read Emma before may not save it: true
	// Emma is 50 % off
	// catalog: 0 violations
	// Good Omens is by [terry]
	// Sourcery is by [terry]
	// one query: Terry true Terry
	// relation: 0 violations
}
