//go:build long

package main

import "github.com/sheafdb/sheaf/examples/internal/demo"

func Example() {
	demo.Test("dungeon", run)
	// Output:
	// ann is late: game: the item is gone
	// ann has a sword and 5 gold
	// the second click: game: battle 1 is at version 1
	// rank 1 with 90
	// rank 2 with 80
	// rank 3 with 70
	// game: 0 violations
	// fred reads 2
	// eve reads 1
	// social: 0 violations
}
